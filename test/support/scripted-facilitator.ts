import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type VerifyFault = 'valid' | 'invalid' | 'forward' | 'garbage' | 'hang';
type SettleFault =
  | 'success'
  | 'rejected'
  | 'forward'
  | 'forward_then_cut'
  | 'forward_then_hang'
  | 'garbage'
  | 'error'
  | 'cut'
  | 'redirect'
  | 'hang';

export interface Script {
  verify: VerifyFault;
  settle: SettleFault;
  /** A real facilitator, for what is forwarded. */
  to?: string;
  transaction?: string;
}

export interface ScriptedFacilitator {
  url: string;
  calls: { verify: number; settle: number };
  script(script: Script): void;
  /** Runs once, before the next answer of that kind. */
  before(kind: 'verify' | 'settle', act: () => Promise<void>): void;
  close(): Promise<void>;
}

/** Somebody else's facilitator, as bad as a test needs it: a stand-in for a remote server, never for a part of ours. */
export async function startScriptedFacilitator(): Promise<ScriptedFacilitator> {
  let current: Script = { verify: 'valid', settle: 'garbage' };
  const calls = { verify: 0, settle: 0 };
  const befores = new Map<string, () => Promise<void>>();

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const kind = (request.url ?? '').slice(1);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    if (kind === 'supported') return send(response, 200, { kinds: [], extensions: [], signers: {} });
    if (kind !== 'verify' && kind !== 'settle') return send(response, 404, {});
    calls[kind] += 1;
    const before = befores.get(kind);
    befores.delete(kind);
    await before?.();
    const fault = current[kind];
    if (fault !== 'forward' && fault !== 'forward_then_cut' && fault !== 'forward_then_hang') {
      return misbehave(fault, response, current);
    }
    const forwarded = await fetch(`${current.to}/${kind}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: Buffer.concat(chunks),
    });
    const text = await forwarded.text();
    if (fault === 'forward_then_hang') return;
    if (fault === 'forward_then_cut') response.destroy();
    else response.writeHead(forwarded.status, { 'content-type': 'application/json' }).end(text);
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    calls,
    script: (script) => {
      current = script;
    },
    before: (kind, act) => {
      befores.set(kind, act);
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function misbehave(fault: VerifyFault | SettleFault, response: ServerResponse, script: Script): void {
  const network = 'eip155:8453';
  switch (fault) {
    case 'valid':
      send(response, 200, { isValid: true });
      return;
    case 'invalid':
      send(response, 200, { isValid: false, invalidReason: 'invalid_payload' });
      return;
    case 'success':
      send(response, 200, { success: true, transaction: script.transaction ?? '', network });
      return;
    case 'rejected':
      send(response, 200, { success: false, errorReason: 'invalid_payload', transaction: '', network });
      return;
    case 'garbage':
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"well": ');
      return;
    case 'error':
      send(response, 500, { error: 'boom' });
      return;
    case 'redirect':
      response.writeHead(302, { location: `${script.to ?? ''}/settle` }).end();
      return;
    case 'cut':
      response.destroy();
      return;
    default:
      // hang: no answer, until the other side gives up.
      return;
  }
}
