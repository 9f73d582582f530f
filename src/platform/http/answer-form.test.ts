import { describe, expect, it } from 'vitest';
import { sampleKey, startSample } from '../../../test/support/sample-server.ts';
import { systemRandom } from '../random.ts';
import { makeRecoveryCode } from '../secrets.ts';
import { FORM_LIMIT_BYTES } from './message.ts';
import { type FormCall, type FormPage, page } from './server-options.ts';

const code = makeRecoveryCode(systemRandom, 'aisle');

function startForm(changed: Partial<FormPage> = {}) {
  const taken: FormCall[] = [];
  const form: FormPage = {
    method: 'POST',
    path: '/door',
    ownOrigin: true,
    secretFields: ['key'],
    handler: (call) => {
      taken.push(call);
      return { status: 200, headers: { 'content-type': 'text/html' }, body: 'taken' };
    },
    ...changed,
  };
  const view = page({
    ...{ method: 'GET', path: '/door', cache: 'private', ownOrigin: true },
    handler: () => ({ status: 200, headers: { 'content-type': 'text/html' }, body: 'door' }),
  });
  const { server, lines } = startSample({ pages: [view, form] });
  const post = (fields: Record<string, string> | string, headers: Record<string, string> = {}) =>
    server.inject({
      method: 'POST',
      url: '/door',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      payload: typeof fields === 'string' ? fields : new URLSearchParams(fields).toString(),
    });
  return { server, post, taken, lines };
}

describe('the form of a page', () => {
  it('is taken with its fields, its cookies and what the browser says of its origin', async () => {
    const { post, taken } = startForm();
    const answer = await post(
      { name: 'a & b', key: sampleKey },
      { cookie: 'a=1; b=2', 'sec-fetch-site': 'same-origin', origin: 'null' },
    );
    expect([answer.statusCode, answer.body, answer.headers['cache-control']]).toEqual([
      200,
      'taken',
      'private, no-store',
    ]);
    expect(taken[0]?.form).toEqual({ name: 'a & b', key: sampleKey });
    expect(taken[0]?.cookies).toEqual({ a: '1', b: '2' });
    expect(taken[0]?.sentFrom).toEqual({ site: 'same-origin', origin: 'null' });
  });

  it.each([
    ['another field', { name: `my key: ${sampleKey}` }],
    ['base64 in another field', { name: Buffer.from(sampleKey).toString('base64') }],
    ['a field’s name', { [sampleKey]: 'x' }],
    ['a code in another field', { key: 'x', name: code.toLowerCase() }],
  ])('with a secret in %s is refused', async (_where, fields) => {
    const { post, taken, lines } = startForm();
    const answer = await post(fields);
    expect([answer.statusCode, answer.json().reason]).toEqual([400, 'secret_in_payload']);
    expect(taken).toEqual([]);
    for (const secret of [sampleKey, code]) {
      expect(lines.join()).not.toContain(secret);
      expect(answer.body).not.toContain(secret);
    }
  });

  it('that cannot be read is searched for secrets all the same', async () => {
    const { post } = startForm();
    expect((await post(`name=%zz&other=${sampleKey}`)).json().reason).toBe('secret_in_payload');
    expect((await post(`{"name":"${sampleKey}"}`, { 'content-type': 'application/json' })).json().reason).toBe(
      'secret_in_payload',
    );
    expect((await post('{}', { 'content-type': 'application/json' })).statusCode).toBe(415);
  });

  it('may be of 16 KiB and no more', async () => {
    const { post } = startForm();
    expect((await post(`a=${'x'.repeat(FORM_LIMIT_BYTES - 2)}`)).statusCode).toBe(200);
    expect((await post(`a=${'x'.repeat(FORM_LIMIT_BYTES - 1)}`)).statusCode).toBe(413);
  });

  it('is refused as the page shows it, and a bug is told to the log alone', async () => {
    const refused: FormPage['refused'] = ({ reason, row }) => ({
      status: row.status,
      headers: { 'content-type': 'text/html' },
      body: `<p>${reason}</p>`,
    });
    const { post } = startForm({ refused });
    const answer = await post({ name: sampleKey });
    expect([answer.statusCode, answer.body]).toEqual([400, '<p>secret_in_payload</p>']);
    const handler = (): never => {
      throw new Error(`broken with ${sampleKey}`);
    };
    const broken = await startForm({ refused, handler }).post({});
    expect([broken.statusCode, broken.json().reason]).toEqual([500, 'internal_error']);
    expect(broken.body).not.toContain(sampleKey);
  });

  it('is for no script of another origin', async () => {
    const { server, post } = startForm();
    const answers = [
      await post({}),
      await server.inject({ url: '/door' }),
      await server.inject({ method: 'OPTIONS', url: '/door' }),
    ];
    for (const { headers } of answers) expect(headers['access-control-allow-origin']).toBeUndefined();
    expect(answers[2]?.headers['allow']).toBe('GET, HEAD, POST, OPTIONS');
  });
});
