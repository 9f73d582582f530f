import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

type VerifyFault = 'valid' | 'invalid' | 'forward' | 'settle_then_invalid' | 'garbage' | 'hang';
type SettleFault =
  | 'success'
  | 'rejected'
  | 'forward'
  | 'forward_slowly'
  | 'forward_then_cut'
  | 'forward_then_error'
  | 'forward_then_hang'
  | 'forward_then_pending'
  | 'forward_answered_twice'
  | 'garbage'
  | 'error'
  | 'cut'
  | 'redirect'
  | 'hang';

export interface Script {
  verify: VerifyFault;
  settle: SettleFault;
  /** URL of a real facilitator for forwarded requests. */
  to?: string;
  transaction?: string;
  /** Replaces the usual reason for a refusal. */
  reason?: string;
  afterMs?: number;
}

export interface ScriptedFacilitator {
  url: string;
  calls: { verify: number; settle: number };
  script(script: Script): void;
  /**
   * Sets a script for the authorization with this nonce only, so that many cases can share the waiting time. Null restores the general
   * script.
   */
  scriptFor(nonce: string, script: Script | null): void;
  /** Runs once, before the next answer of that kind. */
  before(kind: 'verify' | 'settle', act: () => Promise<void>): void;
  close(): Promise<void>;
}

/** Starts a scripted facilitator. It replaces a remote server, never a part of the market. */
export async function startScriptedFacilitator(): Promise<ScriptedFacilitator> {
  let current: Script = { verify: 'valid', settle: 'garbage' };
  const ofNonce = new Map<string, Script>();
  const calls = { verify: 0, settle: 0 };
  const befores = new Map<string, () => Promise<void>>();

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const kind = (request.url ?? '').slice(1);
    const body = await readBody(request);
    if (kind === 'supported') return send(response, 200, { kinds: [], extensions: [], signers: {} });
    if (kind !== 'verify' && kind !== 'settle') return send(response, 404, {});
    calls[kind] += 1;
    const before = befores.get(kind);
    befores.delete(kind);
    await before?.();
    const script = ofNonce.get(nonceOf(body)) ?? current;
    const fault = script[kind];
    const asked = { response, script, body };
    if (fault.startsWith('forward') || fault === 'settle_then_invalid') await forward(kind, fault, asked);
    else misbehave(fault, response, script);
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
    scriptFor: (nonce, script) => {
      if (script === null) ofNonce.delete(nonce);
      else ofNonce.set(nonce, script);
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

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

function nonceOf(body: Buffer): string {
  if (body.length === 0) return '';
  const asked = JSON.parse(body.toString('utf8')) as {
    paymentPayload?: { payload?: { authorization?: { nonce?: string } } };
  };
  return asked.paymentPayload?.payload?.authorization?.nonce ?? '';
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

const NETWORK = 'eip155:8453';

/** Forwards to a real facilitator and falsifies its answer. */
async function forward(
  kind: 'verify' | 'settle',
  fault: VerifyFault | SettleFault,
  { response, script, body }: { response: ServerResponse; script: Script; body: Buffer },
): Promise<void> {
  const slow = fault === 'forward_slowly' ? wait(script.afterMs ?? 0) : null;
  const forwarded = await fetch(`${script.to}/${fault === 'settle_then_invalid' ? 'settle' : kind}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: new Uint8Array(body),
  });
  const text = await forwarded.text();
  await slow;
  switch (fault) {
    case 'forward_then_hang':
      return;
    case 'forward_then_cut':
      response.destroy();
      return;
    case 'forward_then_error':
      send(response, 500, { error: 'boom' });
      return;
    case 'forward_then_pending':
      send(response, 200, { success: false, errorReason: 'settlement_pending', transaction: '', network: NETWORK });
      return;
    case 'settle_then_invalid':
      send(response, 200, { isValid: false, invalidReason: 'invalid_payload' });
      return;
    case 'forward_answered_twice': {
      // The second copy stays in the connection, where the next request would read it.
      const length = Buffer.byteLength(text);
      const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;
      response.socket?.write(`${head}${text}`.repeat(2));
      return;
    }
    default:
      response.writeHead(forwarded.status, { 'content-type': 'application/json' }).end(text);
  }
}

function misbehave(fault: VerifyFault | SettleFault, response: ServerResponse, script: Script): void {
  switch (fault) {
    case 'valid':
      send(response, 200, { isValid: true });
      return;
    case 'invalid':
      send(response, 200, { isValid: false, invalidReason: script.reason ?? 'invalid_payload' });
      return;
    case 'success':
      send(response, 200, { success: true, transaction: script.transaction ?? '', network: NETWORK });
      return;
    case 'rejected':
      send(response, 200, { success: false, errorReason: 'invalid_payload', transaction: '', network: NETWORK });
      return;
    case 'garbage':
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"well": ');
      return;
    case 'error':
      send(response, 500, { error: 'boom' });
      return;
    case 'redirect':
      // A 307 redirect, which would make a client resend the proof.
      response.writeHead(307, { location: `${script.to ?? ''}/settle` }).end();
      return;
    case 'cut':
      response.destroy();
      return;
    default:
      // `hang` never answers.
      return;
  }
}
