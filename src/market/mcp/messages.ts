import type { EndpointShape } from '../../contract/endpoint.ts';
import { endpoints } from '../../contract/index.ts';
import { META, TOOLS, type ToolForm } from '../../contract/tools.ts';
import { BODY_LIMIT_BYTES } from '../../contract/vocabulary.ts';
import { guardBody } from '../../platform/http/guard-request.ts';
import { type Incoming, isPieces, type Outgoing, readBody } from '../../platform/http/message.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { SecretGuard } from '../../platform/secrets.ts';

export interface Message {
  [field: string]: unknown;
  method?: unknown;
  params?: unknown;
}

/**
 * Reads the message. A secret in a tool's arguments, or in `_meta` outside the protocol's own members, is returned as `refusal`, for a tool
 * result that the model reads. A secret anywhere else refuses the whole request. Neither answer repeats what was sent.
 */
export function readMessage(
  guard: SecretGuard,
  incoming: Pick<Incoming, 'headers' | 'body'>,
): { message: Message; refusal: Refusal | null } {
  const { headers, body } = incoming;
  let message: Message;
  try {
    message = readBody(body, headers);
  } catch (error) {
    guardBody(guard, body, undefined);
    throw error;
  }
  if (body.byteLength > BODY_LIMIT_BYTES && !carriesArtifact(message)) throw new Refusal('body_too_large');
  const { params, ...around } = message;
  if (guard.inValue(around)) throw new Refusal('secret_in_payload');
  if (!containsSecret(guard, message)) return { message, refusal: null };
  const clean = message.method === 'tools/call' ? withoutArguments(guard, params) : null;
  if (clean === null) throw new Refusal('secret_in_payload');
  return { message: { ...around, params: clean }, refusal: new Refusal('secret_in_payload') };
}

/** Returns whether the params contain a secret. A delivery token is allowed in its own member of `_meta`, as in its HTTP header. */
function containsSecret(guard: SecretGuard, { method, params }: Message): boolean {
  const { _meta: meta, ...around } = (params ?? {}) as { _meta?: unknown };
  if (method !== 'tools/call' || typeof meta !== 'object' || meta === null) return guard.inValue(params);
  const { [META.deliveryToken]: token, ...others } = meta as Record<string, unknown>;
  if (typeof token === 'string' ? guard.inText(token, 'dt') : guard.inValue(token)) return true;
  return guard.inValue({ ...around, _meta: others });
}

/** Tools whose arguments may be large, because they contain goods. */
const ARTIFACT_TOOLS: ReadonlySet<unknown> = new Set(
  TOOLS.filter(({ asks }) => asks !== 'front_door' && asks.some(takesArtifact)).map(({ name }) => name),
);

function takesArtifact({ endpoint }: ToolForm): boolean {
  const { body_limit: limit = BODY_LIMIT_BYTES }: EndpointShape = endpoints[endpoint];
  return limit > BODY_LIMIT_BYTES;
}

function carriesArtifact({ method, params }: Message): boolean {
  const { name } = (params ?? {}) as { name?: unknown };
  return method === 'tools/call' && ARTIFACT_TOOLS.has(name);
}

const PROTOCOL_KEY = /^io\.modelcontextprotocol\//;

/** Keeps the tool's name and protocol metadata, which are all that the answer needs. Null if they contain the secret. */
function withoutArguments(guard: SecretGuard, params: unknown): Record<string, unknown> | null {
  const { name, _meta } = (params ?? {}) as { name?: unknown; _meta?: unknown };
  const meta = Object.entries(typeof _meta === 'object' && _meta !== null ? _meta : {});
  const kept = { name, arguments: {}, _meta: Object.fromEntries(meta.filter(([key]) => PROTOCOL_KEY.test(key))) };
  return guard.inValue(kept) ? null : kept;
}

/** Limits a result, because it is sent twice, as data and as text, and hosts keep both in memory. */
const ANSWER_LIMIT_BYTES = 4_194_304;

export interface ReadAnswer {
  status: number;
  headers: Outgoing['headers'];
  /** The JSON body as sent over HTTP. */
  text: string;
}

/** Reads a whole answer. Refuses one above the limit. */
export async function readAnswer(outgoing: Outgoing): Promise<ReadAnswer> {
  const { status, headers, body } = outgoing;
  try {
    return { status, headers, text: isPieces(body) ? await joinPieces(body) : textOf(body) };
  } finally {
    outgoing.release?.();
  }
}

function textOf(body: string | Uint8Array): string {
  if (body.length > ANSWER_LIMIT_BYTES) throw new Refusal('answer_too_large');
  // Decode here, which copies, because the buffer of a prepared answer is reused after its release.
  return typeof body === 'string' ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
}

async function joinPieces(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.byteLength;
    if (bytes > ANSWER_LIMIT_BYTES) throw new Refusal('answer_too_large');
    chunks.push(piece);
  }
  return Buffer.concat(chunks).toString('utf8');
}
