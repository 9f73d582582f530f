import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { type Member, startWorld, type World } from '../support/market-world.ts';
import { type Consent, giveConsent } from '../support/mcp-consent.ts';
import { faultsOf, reportRun, runSuite } from '../support/mcp-suite.ts';

const SCENARIOS = ['authorization-code-grant', 'authorization-server-metadata-endpoint'];

describe('the authorization server, before the official conformance suite', () => {
  let world: World;
  let merchant: Member;
  beforeAll(async () => {
    world = await startWorld({ port: await freePort() });
    merchant = await world.join('judged-merchant');
  });
  afterAll(() => world.stop());

  /** As a client does that nobody knows yet. */
  const register = async (redirectUri: string): Promise<string> => {
    const { body: metadata } = await world.ask('GET', '/.well-known/oauth-authorization-server');
    const { pathname } = new URL(String(metadata['registration_endpoint']));
    const { status, body } = await world.ask('POST', pathname, {
      body: {
        client_name: 'Conformance suite',
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      },
    });
    expect(status).toBe(201);
    return String(body['client_id']);
  };

  /** The suite as a client of ours, and a person whom it sends to us. */
  const judge = async (consent: Consent) => {
    const port = await freePort();
    const clientId = await register(`http://127.0.0.1:${port}/callback`);
    const answered: number[] = [];
    const at = ['--url', world.url, '--client-id', clientId, '--resource', `${world.url}/mcp/connect`];
    const run = await runSuite(['authorization', ...at, '--port', String(port)], async (line) => {
      // It prints where a person would go, and waits to be called back.
      if (!line.startsWith(world.url) || !line.includes('code_challenge=')) return;
      const back = await giveConsent(line, consent);
      answered.push((await fetch(back)).status);
    });
    expect(answered).toEqual([200]);
    return run;
  };

  test('has full marks, with a person who shows a key and allows', async () => {
    const run = await judge({ key: merchant.key });
    reportRun('authorization', run, SCENARIOS);
    expect(faultsOf(run.checks)).toEqual([]);
    const passed = new Set(run.checks.flatMap(({ scenario, status }) => (status === 'SUCCESS' ? [scenario] : [])));
    expect([...passed].sort()).toEqual(SCENARIOS);
    expect(run.code).toBe(0);
  });

  test('gives no code when the person cancels', async () => {
    const run = await judge({ decision: 'cancel' });
    expect(faultsOf(run.checks)).toEqual([
      expect.stringMatching(/^authorization-code-grant: .+ FAILURE Authorization error: access_denied/),
    ]);
    expect(run.code).toBe(1);
  });
});
