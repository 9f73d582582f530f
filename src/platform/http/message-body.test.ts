import { describe, expect, it } from 'vitest';
import { readCookies, readForm } from './message.ts';

const TYPE = 'application/x-www-form-urlencoded';
const read = (text: string, contentType: string | undefined = TYPE, contentEncoding?: string) =>
  readForm(Buffer.from(text), { 'content-type': contentType, 'content-encoding': contentEncoding });

describe('a form', () => {
  it('is read as browsers send it', () => {
    expect(read('')).toEqual({});
    expect(read('a=1+2%263&b=&c=%C3%A4%0D%0A&d')).toEqual({ a: '1 2&3', b: '', c: 'ä\r\n', d: '' });
    expect(read('a=b=c', `${TYPE}; charset=UTF-8`)).toEqual({ a: 'b=c' });
    expect(Object.keys(read('__proto__=x&constructor=y'))).toEqual(['__proto__', 'constructor']);
  });

  it.each([
    ['a field twice', 'a=1&a=2'],
    ['malformed percent-encoding', 'a=%zz'],
    ['what is not UTF-8', 'a=%ff'],
    ['a NUL character', 'a=%00'],
    ['raw bytes', 'a=ä'],
    ['more fields than any page has', Array.from({ length: 41 }, (_, at) => `f${at}=`).join('&')],
  ])('with %s is refused', (_what, text) => {
    expect(() => read(text)).toThrow(expect.objectContaining({ reason: 'malformed_request' }));
  });

  it.each([
    ['application/json', undefined],
    ['multipart/form-data; boundary=x', undefined],
    ['text/plain', undefined],
    [undefined, undefined],
    [TYPE, 'gzip'],
  ])('of type %s, encoded %s, is none', (type, encoding) => {
    expect(() => readForm(Buffer.from('a=1'), { 'content-type': type, 'content-encoding': encoding })).toThrow(
      expect.objectContaining({ reason: 'unsupported_media_type' }),
    );
  });
});

describe('cookies', () => {
  it('are read by name', () => {
    expect(readCookies(undefined)).toEqual({});
    expect(readCookies('a=1; b=x=y;c= z ; nothing')).toEqual({ a: '1', b: 'x=y', c: 'z' });
  });

  it('that come more than once are left out', () => {
    expect(readCookies('a=1; b=2; a=3; a=4')).toEqual({ b: '2' });
  });
});
