import type { IncomingHttpHeaders } from 'node:http';
import { endpoints } from '../../contract/index.ts';
import type { Message } from './read-message.ts';
import { findTool, type KnownTool } from './tool-book.ts';

/** A call in its plainest form. */
export interface Plain {
  tool: KnownTool;
  given: Readonly<Record<string, unknown>>;
  id: string | number;
  isModern: boolean;
}

const MODERN = '2026-07-28';
const LEGACY: ReadonlySet<unknown> = new Set(['2025-11-25', '2025-06-18']);
const BOTH_FORMS = 'application/json, text/event-stream';

export function readPlain(headers: IncomingHttpHeaders, message: Message): Plain | null {
  const { jsonrpc, id, method, params, ...rest } = message;
  if (jsonrpc !== '2.0' || method !== 'tools/call' || !isPlainId(id) || Object.keys(rest).length > 0) return null;
  if (headers.accept !== BOTH_FORMS || !isObject(params)) return null;
  const { name, arguments: given = {}, _meta: meta, ...others } = params;
  if (typeof name !== 'string' || !isObject(given) || Object.keys(others).length > 0) return null;
  const tool = findTool(name);
  if (tool === undefined || !isPublicRead(tool)) return null;
  const version = headers['mcp-protocol-version'];
  if (LEGACY.has(version)) return meta === undefined ? { tool, given, id, isModern: false } : null;
  const isModern = version === MODERN && headers['mcp-method'] === method && headers['mcp-name'] === name;
  return isModern && isPlainEnvelope(meta) ? { tool, given, id, isModern } : null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isPlainId(id: unknown): id is string | number {
  return typeof id === 'string' || (typeof id === 'number' && Number.isSafeInteger(id));
}

function isPublicRead({ kind, asks }: KnownTool): boolean {
  if (kind !== 'public' || asks === 'front_door' || asks.length !== 1) return false;
  return endpoints[asks[0].endpoint].cache === 'public';
}

/** Which revision, what the client can do, and at most its name: what every call of the new revision carries. */
function isPlainEnvelope(meta: unknown): boolean {
  if (!isObject(meta)) return false;
  const {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    'io.modelcontextprotocol/clientInfo': client,
    ...others
  } = meta;
  if (version !== MODERN || !isObject(capabilities) || Object.keys(capabilities).length > 0) return false;
  return Object.keys(others).length === 0 && (client === undefined || isPlainClient(client));
}

function isPlainClient(client: unknown): boolean {
  if (!isObject(client)) return false;
  const { name, version, ...others } = client;
  return typeof name === 'string' && typeof version === 'string' && Object.keys(others).length === 0;
}
