import { describe, expect, test } from 'vitest';
import {
  ClientFault,
  checkRedirects,
  cleanName,
  hostOfRedirect,
  normalizeDocument,
  normalizeRegistration,
  staysOnOwnMachine,
} from './client-metadata.ts';

const redirect_uris = ['https://x.example/cb'];
const faultOf = (act: () => unknown): string => {
  try {
    act();
  } catch (error) {
    if (error instanceof ClientFault) return error.code;
    throw error;
  }
  return 'none';
};

describe('a redirect', () => {
  test.each([
    ...[
      'https://x.example/cb',
      'https://x.example:8443/cb?a=b',
      'http://localhost/callback',
      'http://127.0.0.1:33418/',
    ],
    ...[
      'http://[::1]:9/cb',
      'cursor://anysphere.cursor-mcp/oauth/callback',
      'com.example.app:/oauth2redirect',
      'vscode://x/y',
    ],
  ])('to %s is taken', (uri) => {
    expect(checkRedirects([uri])).toEqual([uri]);
  });

  test.each([
    ...[
      'http://x.example/cb',
      'http://localhost.example/',
      'http://127.0.0.2/',
      'javascript:alert(1)',
      'JavaScript:alert(1)',
    ],
    ...[
      'data:text/html,x',
      'file:///etc/passwd',
      'vbscript:x',
      'blob:https://x.example/1',
      'about:blank',
      'intent://x',
    ],
    ...[
      'https://x.example/#part',
      'https://x.example/#',
      'https:x.example/',
      'https:/x.example/',
      'https:\\\\x.example/',
      'https://x.example\\@y.example/',
      'http:\\\\localhost/',
      'https://@x.example/',
      'http://localhost:1@x.example/',
      'http://0.0.0.0/',
      'http://localhost.x.example/',
      'ms-msdt:/id',
      'search-ms:query=x',
      'chrome-extension://abc/cb',
      'web+x://y/',
      'mailto:a@x.example',
      'https://user@x.example/',
      'https://u:p@x.example/',
      '/cb',
      '',
    ],
    ...[
      'https://x.example/ä',
      'https://x.example/a b',
      'https://x.example/\u0000',
      'java\nscript:alert(1)',
      `https://x.example/${'a'.repeat(1_000)}`,
    ],
  ])('to “%s” is not', (uri) => {
    expect(faultOf(() => checkRedirects([uri]))).toBe('invalid_redirect_uri');
  });

  test('is one of ten at most, and of one at least', () => {
    const many = Array.from({ length: 11 }, (_, nth) => `https://x${nth}.example/`);
    expect(checkRedirects(many.slice(1))).toHaveLength(10);
    for (const given of [many, [], undefined, 'https://x.example/', [1], [null], {}]) {
      expect(faultOf(() => checkRedirects(given))).toBe('invalid_redirect_uri');
    }
  });

  test('leads to the user’s own machine, or to a host that is named', () => {
    const uris = [
      'http://localhost:1/',
      'http://[::1]/',
      'cursor://app/cb',
      'com.example.app:/cb',
      'https://x.example:9/',
    ];
    expect(uris.map(staysOnOwnMachine)).toEqual([true, true, true, true, false]);
    const shown = ['localhost', '[::1]', 'cursor://app', 'com.example.app:', 'x.example:9'];
    expect(uris.map(hostOfRedirect)).toEqual(shown);
  });

  test('to a program’s own scheme is never shown as a host', () => {
    expect(hostOfRedirect('evil://claude.ai/cb')).toBe('evil://claude.ai');
    expect(hostOfRedirect('https://xn--80ak6aa92e.example/cb')).toBe('xn--80ak6aa92e.example');
  });
});

describe('a registration', () => {
  test('is reduced to what is supported', () => {
    const given = {
      redirect_uris: [...redirect_uris, 'http://localhost/'],
      application_type: 'web',
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
      response_types: ['code', 'token'],
      token_endpoint_auth_method: 'client_secret_basic',
      scope: 'mcp:tools',
      software_statement: 'x',
      jwks_uri: 'https://x.example/keys',
      client_name: ' A\u202eB\n\tC ',
    };
    expect(normalizeRegistration(given)).toEqual({
      redirect_uris: given.redirect_uris,
      application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      client_name: 'A B C',
    });
  });

  test('that omits fields gets the defaults', () => {
    expect(normalizeRegistration({ redirect_uris })).toEqual({
      redirect_uris,
      application_type: 'web',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    });
    expect(normalizeRegistration({ redirect_uris, grant_types: ['refresh_tokens'] })).toMatchObject({
      grant_types: ['authorization_code'],
    });
  });

  test('for an unsupported response type is refused', () => {
    const given = { redirect_uris, response_types: ['id_token'] };
    expect(faultOf(() => normalizeRegistration(given))).toBe('invalid_client_metadata');
  });
});

describe('a metadata document', () => {
  const client_id = 'https://x.example/client.json';

  test('keeps its id, and the keys of clients that sign', () => {
    const signing = {
      client_id,
      redirect_uris,
      token_endpoint_auth_method: 'private_key_jwt',
      jwks_uri: 'https://x.example/k',
    };
    expect(normalizeDocument(signing)).toMatchObject(signing);
    expect(normalizeDocument({ client_id, redirect_uris, jwks_uri: 'https://x.example/k' })).not.toHaveProperty(
      'jwks_uri',
    );
  });

  test.each(['client_secret_basic', 'client_secret_post', 'client_secret_jwt'])('with %s is none', (method) => {
    const given = { client_id, redirect_uris, token_endpoint_auth_method: method };
    expect(faultOf(() => normalizeDocument(given))).toBe('invalid_client_metadata');
  });

  test('with a secret in it is refused', () => {
    expect(faultOf(() => normalizeDocument({ client_id, redirect_uris, client_secret: 'x' }))).toBe(
      'invalid_client_metadata',
    );
  });
});

test('a name is one short line, or none', () => {
  expect(cleanName('Cursor')).toBe('Cursor');
  expect([...(cleanName('x'.repeat(500)) ?? '')]).toHaveLength(80);
  for (const none of ['', ' \n', '\u200b\u202e', 7, null, undefined, {}]) expect(cleanName(none)).toBeNull();
  expect(cleanName('\ud800broken')).toBe('broken');
});
