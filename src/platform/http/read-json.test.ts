import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { processorMs } from '../../../test/support/processor-time.ts';
import { JsonFault, readJson } from './read-json.ts';

const read = (text: string) => readJson(Buffer.from(text));
const fault = (text: string | Buffer) => {
  try {
    readJson(Buffer.from(text));
  } catch (error) {
    if (error instanceof JsonFault) return error.message;
    throw error;
  }
  return 'no fault';
};

describe('readJson', () => {
  it('reads every value that JSON has', () => {
    const text = ' {"a" : [1, 0.5, 1.000001, true,false,null,[],{}],\n"b":{"c":"d"},"":"" }\r\n\t';
    expect(read(text)).toEqual({ a: [1, 0.5, 1.000001, true, false, null, [], {}], b: { c: 'd' }, '': '' });
  });

  it('agrees with JSON.parse on whatever it accepts', () => {
    const numbers = fc.oneof(
      fc.nat(),
      fc.nat(999_999_999).map((n) => n / 100),
    );
    const values = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.string({ unit: 'binary' }),
        numbers,
        fc.boolean(),
        fc.constant(null),
        fc.array(tie('value')),
        tie('object'),
      ),
      object: fc.dictionary(
        fc.string({ unit: 'binary' }).filter((key) => key !== '__proto__'),
        tie('value'),
        { noNullPrototype: true },
      ),
    }));
    fc.assert(
      fc.property(values.object, fc.nat(2), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        expect(read(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('never throws anything but its own fault, whatever the bytes', () => {
    const near = fc.string({
      unit: fc.constantFrom('{', '}', '[', ']', '"', ':', ',', '1', '-', '.', 'e', '\\', 'u', 'a', ' ', 'true', 'null'),
    });
    fc.assert(
      fc.property(near, (text) => {
        const message = fault(`{"a":${text}}`);
        if (message === 'no fault') expect(JSON.parse(`{"a":${text}}`)).toEqual(read(`{"a":${text}}`));
      }),
      { numRuns: 1_000 },
    );
  });

  it.each([
    ['{"a":1,"a":2}', 'Line 1, column 8: a field is given twice.'],
    ['{"a":1,"\\u0061":2}', 'Line 1, column 8: a field is given twice.'],
    ['{"__proto__":{}}', 'Line 1, column 2: a field of this name is not allowed.'],
    ['{"a":{"\\u005f_proto__":1}}', 'Line 1, column 7: a field of this name is not allowed.'],
    ['[1]', 'Line 1, column 1: expected an object.'],
    ['"a"', 'Line 1, column 1: expected an object.'],
    ['', 'Line 1, column 1: expected an object.'],
    ['{"a":1} x', 'Line 1, column 9: expected the end.'],
    ['{"a":1,}', 'Line 1, column 8: expected a field name in double quotes.'],
    ["{'a':1}", 'Line 1, column 2: expected a field name in double quotes.'],
    ['{\n  "a" 1}', 'Line 2, column 7: expected a colon.'],
    ['{"a":[1 2]}', 'Line 1, column 9: expected a comma or ].'],
    ['{"a":"b}', 'Line 1, column 6: a text that does not end.'],
    ['{"a":"\\x"}', 'Line 1, column 6: a text with a bare control character or an unknown escape.'],
    ['{"a":"\n"}', 'Line 1, column 6: a text with a bare control character or an unknown escape.'],
    ['{"a":nul}', 'Line 1, column 6: expected a value.'],
    ['{"a":NaN}', 'Line 1, column 6: expected a value.'],
    ['{"a":/**/1}', 'Line 1, column 6: expected a value.'],
  ])('says where %j is wrong', (text, message) => {
    expect(fault(text)).toBe(message);
  });

  it.each(['-1', '-0', '1e3', '1E3', '1.0e1', '01', '1.', '1.0000001', '00', '1.2.3', '1-2'])(
    'refuses the number %s',
    (number) => {
      expect(fault(`{"a":${number}}`)).toBe(
        'Line 1, column 6: a number must be plain: no sign, no exponent, no leading zero, at most 6 decimals.',
      );
    },
  );

  it.each(['9007199254740993', '1000000000.5', '9'.repeat(400)])(
    'refuses the number %s that would be rounded',
    (number) => {
      expect(fault(`{"a":${number}}`)).toBe('Line 1, column 6: a number is too large.');
    },
  );

  it('refuses what is not UTF-8', () => {
    expect(fault(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))).toBe('The body is not valid UTF-8.');
    expect(fault('\ufeff{"a":1}')).toBe('The body begins with a byte order mark.');
    expect(fault(Buffer.from('{"a":1}', 'utf16le'))).not.toBe('no fault');
  });

  it('stops at a depth of 32', () => {
    const nested = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
    expect(fault(nested(32))).toBe('no fault');
    expect(fault(nested(33))).toContain('nested deeper than 32 levels');
    expect(fault(nested(500_000))).toContain('nested deeper than 32 levels');
  });

  it('takes time in proportion to the body, also of the worst kind', () => {
    const worst = (): void => {
      read(`{"a":"${'\\\\'.repeat(500_000)}"}`);
      fault(`{"a":"${'\\"'.repeat(500_000)}`);
      fault(`{${'"'.repeat(1_000_000)}`);
      expect(fault(`${'\n'.repeat(1_000_000)}x`)).toBe('Line 1000001, column 1: expected an object.');
    };
    expect(processorMs(worst)).toBeLessThan(2_000);
  });

  it('counts fields and items while it reads, and stops at the first too many', () => {
    const fields = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, 1]));
    expect(Object.keys(read(JSON.stringify(fields(1_000))))).toHaveLength(1_000);
    const tooMany = /more than 1000 fields and items/;
    expect(() => read(JSON.stringify(fields(1_001)))).toThrow(tooMany);
    expect(() => read(JSON.stringify({ a: Array.from({ length: 1_000 }, () => 1) }))).toThrow(tooMany);
    expect(() => read(JSON.stringify({ a: fields(500), b: [fields(500)] }))).toThrow(tooMany);
    // Stops at the limit, without parsing what follows.
    expect(() => read(`${JSON.stringify(fields(1_001)).slice(0, -1)}, nonsense`)).toThrow(tooMany);
  });
});
