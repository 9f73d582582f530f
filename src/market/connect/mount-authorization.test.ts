import { expect, test } from 'vitest';
import { normalizeQuery } from './mount-oauth.ts';

const fields = (query: string) => [...new URLSearchParams(normalizeQuery(query))];
const scopeOf = (scope: string) =>
  new URLSearchParams(normalizeQuery(`scope=${encodeURIComponent(scope)}`)).get('scope');

test.each([
  ['', 'market:read market:me'],
  ['market:write', 'market:write'],
  ['market:write market:read', 'market:read market:write'],
  ['market:me offline_access', 'market:me'],
  ['openid profile offline_access', 'market:read market:me'],
  ['market:read market:everything', 'market:read'],
])('who asks for “%s” asks for “%s”', (asked, scope) => {
  expect(scopeOf(asked)).toBe(scope);
});

test('the parameters of an authorization are passed on unchanged, and consent is asked every time', () => {
  const query = 'client_id=a%20b&state=x%2By&redirect_uri=https%3A%2F%2Fx.example%2F&resource=r&code_challenge=c';
  expect(normalizeQuery(query)).toBe(`${query}&scope=market%3Aread+market%3Ame&prompt=login+consent`);
});

test('parameters of OpenID Connect and unknown ones are not passed on', () => {
  expect(fields('nonce=n&claims=%7B%7D&max_age=1&id_token_hint=h&acr_values=a&audience=b&x')).toEqual([
    ['scope', 'market:read market:me'],
    ['prompt', 'login consent'],
  ]);
});

test('another response type or mode is passed on as unknown', () => {
  expect(fields('response_type=code&response_mode=query').slice(1, 3)).toEqual([
    ['response_type', 'code'],
    ['response_mode', 'query'],
  ]);
  expect(fields('response_type=code+token&response_mode=form_post').slice(1, 3)).toEqual([
    ['response_type', 'unknown'],
    ['response_mode', 'unknown'],
  ]);
});

test('duplicate parameters stay duplicated', () => {
  const twice = fields(
    'client_id=a&client_id=b&scope=market%3Ame&scope=market%3Awrite&response_type=code&response_type=code',
  );
  expect(twice.map(([name]) => name).sort()).toEqual(
    ['client_id', 'client_id', 'prompt', 'response_type', 'response_type', 'scope', 'scope'].sort(),
  );
});

test.each(['state=%', 'state=%ff', 'state=a%00b', 'x=%00', 'x=%e0%80'])('“%s” is refused', (query) => {
  expect(() => normalizeQuery(query)).toThrow();
});
