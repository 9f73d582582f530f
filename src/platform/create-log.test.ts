import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { processorMs } from '../../test/support/processor-time.ts';
import { createLog, redact } from './log.ts';
import { systemRandom } from './random.ts';
import { makeMerchantKey, makePairingCode, makeRecoveryCode } from './secrets.ts';

function start(options: Parameters<typeof createLog>[0] = {}) {
  const lines: string[] = [];
  const log = createLog({ stream: { write: (line) => void lines.push(line) }, ...options });
  return { log, lines, last: () => JSON.parse(lines.at(-1) ?? '') as Record<string, unknown> };
}

const payment = Buffer.from(
  JSON.stringify({ x402Version: 1, payload: { signature: `0x${'ab'.repeat(65)}` } }),
).toString('base64');
const secrets: [string, string][] = [
  ['key', makeMerchantKey(systemRandom, 'aisle')],
  ['key of another site', makeMerchantKey(systemRandom, 'city')],
  ['recovery code', makeRecoveryCode(systemRandom, 'aisle')],
  ['recovery code in lower case', makeRecoveryCode(systemRandom, 'aisle').toLowerCase()],
  ['pairing code', makePairingCode(systemRandom, 'aisle')],
  ['payment header', payment],
  ['signature', `0x${'ab'.repeat(65)}`],
  ['signature in upper case', 'AB'.repeat(65)],
];

describe('the log', () => {
  it('prints one JSON object a line with level, time and event', () => {
    const { log, lines, last } = start({ clock: { now: () => 0, sleep: async () => undefined } });
    log.info('request', { status: 200, merchant_id: 7n, route: '/x' });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^\{.*\}\n$/);
    expect(last()).toEqual({
      level: 'info',
      time: '1970-01-01T00:00:00.000Z',
      event: 'request',
      status: 200,
      merchant_id: '7',
      route: '/x',
    });
  });

  it('names a renamed event by its former name as well', () => {
    const { log, last } = start();
    log.info('tool_list_degraded', { count: 1 });
    expect(last()).toMatchObject({ event: 'tool_list_degraded', former_event: 'tools_listed_without_a_database' });
    log.info('request');
    expect(last()).not.toHaveProperty('former_event');
  });

  it('prints only the fields it knows and names the others', () => {
    const { log, last } = start({ fields: ['colour'] });
    log.warn('x', { body: { artifact: 'goods' }, colour: 'red', count: undefined });
    expect(last()).toMatchObject({ level: 'warn', colour: 'red', left_out: ['body'] });
    expect(last()).not.toHaveProperty('count');
  });

  it('prints simple values only', () => {
    const { log, lines, last } = start();
    log.info('x', {
      detail: { artifact: 'goods' },
      reason: ['a', 1, ['b'], { artifact: 'goods' }],
      state: () => 'goods',
    });
    expect(last()).toMatchObject({ detail: '[object]', reason: ['a', 1, '[list]', '[object]'], state: '[function]' });
    expect(lines.join('')).not.toContain('goods');
  });

  it.each(secrets)('takes out a %s wherever it stands', (_name, secret) => {
    const { log, lines } = start();
    const error = new Error(`could not use ${secret}, sorry`, { cause: new TypeError(`because ${secret}`) });
    log.info(`event ${secret}`, { detail: `x ${secret} y`, url: `/?k=${secret}`, reason: [secret] });
    log.error('failed', { error });
    log.error('failed', { error: secret, [secret]: 1 });
    log.with({ route: secret }).error('failed', { error: { [secret]: secret } });
    expect(lines.join('').toLowerCase()).not.toContain(secret.toLowerCase());
    expect(lines.join('').toLowerCase()).not.toContain(secret.slice(9, 40).toLowerCase());
    expect(lines.join('')).toContain('sorry');
  });

  it('prints an error with stack, code and causes, and none of its own fields', () => {
    const { log, lines, last } = start();
    const error = Object.assign(new Error('outer', { cause: new Error('inner') }), {
      code: '23505',
      detail: 'Key (handle)=(bob) exists',
    });
    log.error('failed', { error });
    expect(last()['error']).toMatchObject({
      name: 'Error',
      message: 'outer',
      code: '23505',
      cause: { message: 'inner' },
    });
    expect(JSON.stringify(last()['error'])).toContain('create-log.test.ts');
    expect(lines.join('')).not.toContain('bob');
  });

  it('cannot be made to print a line of its own', () => {
    const { log, lines } = start();
    const forged = 'x\n{"level":"info","event":"forged"}\r\u2028\u0085\u001b[31m\u009b31m';
    log.info(forged, { detail: forged, error: new Error(forged) });
    expect(lines).toHaveLength(1);
    const line = lines[0] ?? '';
    expect(line.endsWith('\n')).toBe(true);
    const breaking = [...line.slice(0, -1)].filter((character) => {
      const code = character.charCodeAt(0);
      return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code === 0x2028 || code === 0x2029;
    });
    expect(breaking).toEqual([]);
  });

  it('carries standing fields and cuts endless texts', () => {
    const { log, last } = start();
    log.with({ request_id: 'r' }).info('x', { detail: 'y '.repeat(100_000) });
    expect(last()['request_id']).toBe('r');
    expect(String(last()['detail']).length).toBeLessThan(10_000);
  });

  it('hides texts of the configuration', () => {
    const { log, lines } = start({ hide: ['https://node.example/v2/abcdef', ''] });
    log.error('failed', { error: new Error('fetch https://node.example/v2/abcdef failed') });
    expect(lines.join('')).not.toContain('abcdef');
    expect(lines.join('')).toContain('fetch [removed] failed');
  });
});

describe('redact', () => {
  it.each([
    ['authorization: Bearer abc.def', 'authorization: [removed]'],
    ['{"Authorization":"Bearer abc"}', '{"Authorization":"[removed]"}'],
    ['Bearer abc', 'Bearer [removed]'],
    ['authorization: Basic dXNlcg==', 'authorization: [removed]'],
    ['X-PAYMENT: abcdef', 'X-PAYMENT: [removed]'],
    ['x-delivery-token=abcdef', 'x-delivery-token=[removed]'],
    ['"delivery_token":"abcdef"', '"delivery_token":"[removed]"'],
    ['X-Download-Token: abcdef', 'X-Download-Token: [removed]'],
    ['"download_token":"abcdef"', '"download_token":"[removed]"'],
    ['postgres://me:word@db:5432/x', 'postgres://[removed]@db:5432/x'],
  ])('makes %s harmless', (text, safe) => {
    expect(redact(text)).toBe(safe);
  });

  it('leaves hashes, addresses, ids and paths', () => {
    const text = `0x${'ab'.repeat(32)} 0x${'cd'.repeat(20)} 3f2b8a3e-95d2-4b0a-9e3c-0d8f1a2b3c4d at run (file:///srv/app/src/platform/http/create-http-server.ts:10:5)`;
    expect(redact(text)).toBe(text);
  });

  it('takes out the same where nothing is at first sight suspicious', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        'Bearer',
        'cookie',
        'eyJ',
        'eyJhbGciOiJIUzI1NiIsInR5cCI',
        'ab'.repeat(64),
        '0x',
        '_sk_',
        ' ',
        ':',
        '@',
        '://',
      ),
      fc.string({ unit: fc.constantFrom(...'abcXYZ019./-'), maxLength: 40 }),
    );
    let plain = 0;
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 5 }), (pieces) => {
        const text = pieces.join('');
        // The comma and the accented letter stop every pattern, and keep the text off the fast path.
        const looked = redact(`${text},\u00e9`);
        expect(`${redact(text)},\u00e9`).toBe(looked);
        if (/^[A-Za-z0-9./-]+$/.test(text)) plain += 1;
      }),
      { numRuns: 2_000 },
    );
    expect(plain).toBeGreaterThan(200);
  });

  it('takes time in proportion to the text', () => {
    const redactWorst = (): void => {
      for (const worst of ['a', 'Bearer ', 'authorization: ', 'eyJ', '://a', 'x_sk_', 'x-payment', ' ', 'a_', '0x']) {
        redact(worst.repeat(65_536 / worst.length));
      }
    };
    expect(processorMs(redactWorst)).toBeLessThan(3_000);
  });
});
