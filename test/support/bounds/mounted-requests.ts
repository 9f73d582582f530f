import { PATHS } from '../../../src/market/connect/interaction.ts';
import { OAUTH_BODY_BYTES } from '../../../src/market/connect/mount-oauth.ts';
import { FORM_LIMIT_BYTES } from '../../../src/platform/http/message.ts';
import { BODIES, VALUES } from './contents.ts';
import { type HostileRequest, hostileBodies } from './requests.ts';

interface Mounted {
  name: string;
  exempt: string | null;
  requests: HostileRequest[];
}

/** Body limit of `mountMcp`. */
const MCP_LIMIT_BYTES = 2_097_152;

/** Builds hostile requests for routes outside the contract: tools, authorization server, page forms. */
export function mountedRequests(key: string): Mounted[] {
  return [toolRequests(key), ...formRequests()];
}

function toolRequests(key: string): Mounted {
  const goods = { title: 'Goods of a tool', description: 'What they are', artifact: 'The goods', price_usdc: 0 };
  const call = { name: 'list_item', arguments: goods, _meta: { 'x402/payment': {} } };
  const base = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: call };
  const texts = ['title', 'artifact', 'unknown'].map((name) => ['params', 'arguments', name]);
  const bodies = hostileBodies([{ base, texts: [...texts, ['params', 'name'], ['method'], ['id']] }], MCP_LIMIT_BYTES);
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    authorization: `Bearer ${key}`,
  };
  const requests = bodies.map((one) => ({ method: 'POST', path: '/mcp', headers, ...one }));
  return { name: 'POST /mcp', exempt: null, requests };
}

/** Builds requests for page forms and for the endpoints of the authorization server. */
function formRequests(): Mounted[] {
  const forms = [
    { path: '/join', limit: FORM_LIMIT_BYTES, field: 'handle' },
    { path: PATHS.token, limit: OAUTH_BODY_BYTES, field: 'code' },
    { path: PATHS.revocation, limit: OAUTH_BODY_BYTES, field: 'token' },
    { path: PATHS.registration, limit: OAUTH_BODY_BYTES, field: 'client_name' },
  ];
  return forms.map(({ path, limit, field }) => {
    const plain = { method: 'POST', path };
    const form = { ...plain, headers: { 'content-type': 'application/x-www-form-urlencoded' } };
    const json = { ...plain, headers: { 'content-type': 'application/json' } };
    const requests = [
      ...Object.entries(VALUES).map(([content, fill]) => ({
        ...form,
        content: `${content} in ${field}`,
        body: Buffer.from(`${field}=${fill(limit - field.length - 1)}`),
      })),
      ...Object.entries(BODIES).flatMap(([content, fill]) =>
        [form, json].map((one) => ({ ...one, content, body: Buffer.from(fill(limit)) })),
      ),
    ];
    return { name: `POST ${path}`, exempt: null, requests };
  });
}
