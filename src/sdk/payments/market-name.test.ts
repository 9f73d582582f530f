import { expect, test } from 'vitest';
import { createClient } from '../client.ts';
import { nameToSignFor } from './market-name.ts';

const NAMED = 'https://market.example/alice';

test.each([
  ['as it was named', NAMED],
  ['with a slash at the end', `${NAMED}/`],
  ['in other letters, with the usual port', 'HTTPS://Market.Example:443/alice'],
])('%s: it is signed for the address that was named, as that is written', (_, told) => {
  expect(nameToSignFor(createClient({ baseUrl: NAMED }), told)).toBe(NAMED);
});

test.each([
  ['another host', 'https://other.example/alice'],
  ['another scheme', 'http://market.example/alice'],
  ['another port', 'https://market.example:8443/alice'],
  ['another path', 'https://market.example/bob'],
  ['no path', 'https://market.example'],
  ['another case of the path', 'https://market.example/Alice'],
  ['a query', `${NAMED}?bob`],
  ['a name and a password', 'https://a:b@market.example/alice'],
  ['a line more', `${NAMED}\n1\n7`],
  ['no address', 'market.example/alice'],
  ['nothing', ''],
  ['a page of text', `${NAMED}/${'x'.repeat(200)}`],
])('%s: nothing is signed, and the refusal names both and the way out', (_, told) => {
  expect(() => nameToSignFor(createClient({ baseUrl: NAMED }), told)).toThrow(
    expect.objectContaining({
      why: 'other_market',
      message: expect.stringContaining(NAMED),
      nextStep: expect.stringContaining('--market-calls-itself URL'),
    }),
  );
});

test('loopback by another of its names is another address', () => {
  expect(() => nameToSignFor(createClient({ baseUrl: 'http://127.0.0.1:4020' }), 'http://localhost:4020')).toThrow(
    'http://localhost:4020',
  );
});

test('what the owner says that the market calls itself is signed for, and still nothing else', () => {
  const client = createClient({ baseUrl: 'http://127.0.0.1:8443', callsItself: `${NAMED}/` });
  expect(nameToSignFor(client, NAMED)).toBe(NAMED);
  expect(nameToSignFor(client, 'http://127.0.0.1:8443')).toBe('http://127.0.0.1:8443');
  expect(() => nameToSignFor(client, 'https://market.example/bob')).toThrow(
    'calls itself https://market.example with a path of its own',
  );
});
