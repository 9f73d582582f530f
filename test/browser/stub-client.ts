import { createServer } from 'node:http';
import { afterAll, beforeAll } from 'vitest';
import { askMcp, type McpAnswer } from '../support/mcp-ask.ts';
import {
  type Begun,
  beginAuthorization,
  discover,
  learnClientId,
  redeem,
  refresh,
  type Tokens,
} from '../support/oauth-client.ts';
import type { ClientShape } from '../support/oauth-shapes.ts';

/** A local program that asks to connect. It listens for its user to return and knows only the market's URL. */
export interface StubClient {
  redirectUri: string;
  /** Starts an authorization and returns the URL to open. The client registers itself or is known by its metadata document. */
  begin(
    marketUrl: string,
    asked?: { scope?: string; name?: string; document?: ClientShape['document'] },
  ): Promise<Begun>;
  /** Returns the parameters with which its user last returned. */
  returnedParameters(): URLSearchParams;
  redeem(marketUrl: string, begun: Begun): Promise<Tokens>;
  /** Asks for fresh tokens and returns the status. */
  refresh(marketUrl: string, begun: Begun, refreshToken: string): Promise<number>;
  call(marketUrl: string, token: string, tool: string): Promise<McpAnswer>;
}

/** Creates one client for all tests of a file. */
export function stubClient(): StubClient {
  let last: URLSearchParams | null = null;
  let redirectUri = '';
  const server = createServer(({ url }, response) => {
    const { pathname, searchParams } = new URL(url ?? '/', 'http://127.0.0.1');
    if (pathname === '/callback') last = searchParams;
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end('<!doctype html><html lang="en"><title>Back</title><h1>Back in the program</h1></html>');
  });
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    redirectUri = `http://127.0.0.1:${address.port}/callback`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const returnedParameters = (): URLSearchParams => {
    if (last === null) throw new Error('no browser came back');
    return last;
  };
  return {
    get redirectUri() {
      return redirectUri;
    },
    begin: async (marketUrl, { scope = 'market:read market:me', name = 'A stub & its <client>', document } = {}) => {
      last = null;
      const facts = await discover(marketUrl);
      const registration = {
        ...{ client_name: name, redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' },
        ...{ grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] },
      };
      const shape = { ...(document === undefined ? { registration } : { document }), redirectUri, scope };
      return beginAuthorization(facts, { clientId: await learnClientId(facts, shape), shape });
    },
    returnedParameters,
    redeem: async (marketUrl, begun) => {
      const sent = returnedParameters();
      if (sent.get('state') !== begun.state) throw new Error('another state');
      const { status, body } = await redeem(await discover(marketUrl), begun, sent.get('code') ?? '');
      if (status !== 200) throw new Error(`no tokens: ${status} ${JSON.stringify(body)}`);
      return body as unknown as Tokens;
    },
    refresh: async (marketUrl, { clientId }, refreshToken) =>
      (await refresh(await discover(marketUrl), clientId, refreshToken)).status,
    call: (url, token, tool) =>
      askMcp(
        { url },
        'tools/call',
        { name: tool, arguments: {} },
        {
          path: '/mcp/connect',
          headers: { authorization: `Bearer ${token}` },
        },
      ),
  };
}
