import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { type OauthStage, startOauthStage } from '../../../test/support/oauth-stage.ts';

const db = testDatabase();
let stage: OauthStage;
beforeAll(async () => {
  stage = await startOauthStage(db);
});
afterAll(() => stage.stop());

const SERVER = '/.well-known/oauth-authorization-server';
const OPENID = '/.well-known/openid-configuration';
const RESOURCE = '/.well-known/oauth-protected-resource';

test.each([SERVER, `${SERVER}/mcp/connect`, OPENID, `${OPENID}/mcp/connect`])(
  '%s is there for everybody',
  async (path) => {
    const response = await fetch(stage.url + path, { headers: { origin: 'https://anywhere.example' } });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(await response.json()).toMatchObject({
      issuer: stage.url,
      authorization_endpoint: `${stage.url}/oauth/authorize`,
      token_endpoint: `${stage.url}/oauth/token`,
      registration_endpoint: `${stage.url}/oauth/register`,
      revocation_endpoint: `${stage.url}/oauth/revoke`,
      jwks_uri: `${stage.url}/oauth/jwks`,
      code_challenge_methods_supported: ['S256'],
      client_id_metadata_document_supported: true,
      authorization_response_iss_parameter_supported: true,
      token_endpoint_auth_methods_supported: expect.arrayContaining(['none']),
      scopes_supported: ['market:read', 'market:me', 'market:write', 'offline_access'],
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
    });
  },
);

describe('the resource', () => {
  test('says where its tokens come from, and asks for no refresh token', async () => {
    const response = await fetch(`${stage.url}${RESOURCE}/mcp/connect`);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(await response.json()).toMatchObject({
      resource: `${stage.url}/mcp/connect`,
      authorization_servers: [stage.url],
      scopes_supported: ['market:read', 'market:me', 'market:write'],
      bearer_methods_supported: ['header'],
    });
  });

  test.each([RESOURCE, `${RESOURCE}/mcp`, `${RESOURCE}/mcp/`, `${RESOURCE}/mcp/connect/`])(
    '%s is not there',
    async (path) => {
      expect((await fetch(stage.url + path)).status).toBe(404);
    },
  );
});

test('no private part of a key is published', async () => {
  const { keys } = (await (await fetch(`${stage.url}/oauth/jwks`)).json()) as { keys: Record<string, unknown>[] };
  expect(keys.map((key) => Object.keys(key).sort())).toEqual([['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']]);
});

test('unused endpoints of the library are not served', async () => {
  const paths = [
    '/session/end',
    '/session/end/confirm',
    '/me',
    '/device',
    '/request',
    '/token/introspection',
    '/oauth/authorize/x/y',
  ];
  for (const path of paths) expect((await fetch(stage.url + path, { redirect: 'manual' })).status).toBe(404);
  for (const path of ['/oauth/authorize', '/oauth/token']) {
    const method = path.endsWith('token') ? 'GET' : 'POST';
    expect((await fetch(stage.url + path, { method })).status).toBe(405);
  }
});
