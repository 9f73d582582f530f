import { z } from 'zod';
import type { EndpointShape } from '../../../src/contract/endpoint.ts';
import { BODY_LIMIT_BYTES, DEFAULT_LIMITS, HEADER_LIMIT_BYTES } from '../../../src/contract/vocabulary.ts';
import { BODIES, HEADERS, PROOFS, QUERIES, TEXTS, VALUES } from './contents.ts';

/** A request by a stranger, or by a merchant who registered a minute ago. */
export interface HostileRequest {
  /** Name of the content and its position. */
  content: string;
  method: string;
  path: string;
  headers: Record<string, string>;
  body: Buffer | null;
}

type JsonSchema = { [keyword: string]: unknown };
type Path = readonly (string | number)[];

/** Leaves room for the rest of the head. */
const HEAD_ROOM = HEADER_LIMIT_BYTES - 1_000;
/** Sizes in bytes of one text in a body: as long as the body limit allows, and sizes that are valid for goods and texts. */
const LENGTHS = [Number.POSITIVE_INFINITY, DEFAULT_LIMITS.artifact_bytes, 16_000, 480] as const;
const NOTHING_OF_THAT_ID = 999_999;
const HEX = (bytes: number): string => `0x${'5a'.repeat(bytes)}`;

/** Valid values for fields with a format, so that a request passes as many checks as possible. Other values follow from the type. */
const GOOD: Readonly<Record<string, unknown>> = {
  handle: 'someone-new',
  city_handle: 'someone',
  market_handle: 'someone',
  to: 'someone',
  intent_id: '5a'.repeat(16),
  tx_hash: HEX(32),
  collect_salt: HEX(32),
  payer_signature: HEX(65),
  seller_wallet: HEX(20),
  payer_wallet: HEX(20),
  license: 'MIT',
  artifact_media_type: 'text/plain',
  artifact_filename: 'goods.txt',
  artifact_encoding: 'utf-8',
  aisle: 'tools',
};

/** Builds every hostile request for one endpoint from its descriptor alone, so new endpoints and fields are covered automatically. */
export function requestsTo(endpoint: EndpointShape): HostileRequest[] {
  const { method, body, payment } = endpoint;
  const path = pathOf(endpoint);
  const headers = { 'content-type': 'application/json' };
  const plain = { method, path, headers: {}, body: null };
  if (body === undefined) return [...readsOf(endpoint, path), ...longParams(endpoint)];
  const forms = formsOf(body, endpoint);
  const bodies = hostileBodies(forms, endpoint.body_limit ?? BODY_LIMIT_BYTES);
  const [first] = forms;
  const good = Buffer.from(JSON.stringify(first?.base ?? {}));
  return [
    ...bodies.map((one) => ({ ...plain, headers, ...one })),
    ...(payment === true ? PROOFS : []).map(([name, content, fill]) => ({
      ...plain,
      content: `${name}: ${content}`,
      headers: { ...headers, [name]: fill(HEAD_ROOM) },
      body: good,
    })),
  ];
}

interface Form {
  /** A body that passes as many checks as possible. */
  base: Record<string, unknown>;
  texts: Path[];
}

/** Builds hostile bodies of at most `limit` bytes. */
export function hostileBodies(forms: readonly Form[], limit: number): Pick<HostileRequest, 'content' | 'body'>[] {
  const whole = Object.entries(BODIES).map(([content, fill]) => ({ content, body: Buffer.from(fill(limit)) }));
  const inTexts = forms.flatMap(({ base, texts }) =>
    texts.flatMap((path) =>
      Object.entries(TEXTS).flatMap(([content, fill]) =>
        LENGTHS.filter((length) => length < limit || length === Number.POSITIVE_INFINITY).map((length) => {
          const [before = '', after = ''] = JSON.stringify(replaced(base, path, MARK)).split(MARK);
          const room = Math.min(length, limit - Buffer.byteLength(before) - Buffer.byteLength(after));
          const place = `${path.join('.')}${length === Number.POSITIVE_INFINITY ? '' : `, ${length} bytes`}`;
          return { content: `${content} in ${place}`, body: Buffer.from(before + fill(room) + after) };
        }),
      ),
    ),
  );
  return [...whole, ...inTexts];
}

const MARK = 'the hostile text';

function replaced(value: unknown, [step, ...rest]: Path, by: string): unknown {
  if (step === undefined) return by;
  if (typeof step === 'number') return [replaced(undefined, rest, by)];
  const fields = (value ?? {}) as Record<string, unknown>;
  return { ...fields, [step]: replaced(fields[step], rest, by) };
}

function formsOf(schema: z.ZodType, endpoint: EndpointShape): Form[] {
  const whole = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
  return alternativesOf(whole).map((form) => {
    const fields = Object.entries((form['properties'] ?? {}) as Record<string, JsonSchema>);
    const required = new Set((form['required'] ?? []) as string[]);
    const base = fields
      .filter(([name]) => required.has(name))
      .map(([name, field]) => [name, goodOf(name, field, endpoint)]);
    return { base: Object.fromEntries(base), texts: fields.flatMap(([name, field]) => textsIn(field, [name])) };
  });
}

function alternativesOf(schema: JsonSchema): JsonSchema[] {
  const { anyOf, oneOf } = schema as { anyOf?: JsonSchema[]; oneOf?: JsonSchema[] };
  return anyOf ?? oneOf ?? [schema];
}

function textsIn(schema: JsonSchema, path: Path): Path[] {
  const { anyOf, oneOf, properties, items, type } = schema;
  if (anyOf !== undefined || oneOf !== undefined) {
    const all = alternativesOf(schema).flatMap((one) => textsIn(one, path));
    return all.slice(0, 1);
  }
  if (properties !== undefined) {
    return Object.entries(properties as Record<string, JsonSchema>).flatMap(([name, one]) =>
      textsIn(one, [...path, name]),
    );
  }
  if (items !== undefined) return textsIn(items as JsonSchema, [...path, 0]);
  // Put text into fields of other types too, because refusing it must be just as fast.
  return type === 'null' ? [] : [path];
}

function goodOf(name: string, schema: JsonSchema, { auth }: EndpointShape): unknown {
  const {
    const: only,
    enum: some,
    type,
    minimum,
  } = schema as {
    const?: unknown;
    enum?: unknown[];
    type?: string;
    minimum?: number;
  };
  if (only !== undefined) return only;
  if (name in GOOD) return GOOD[name];
  if (some !== undefined) return some[0];
  // The maintainer gets an unknown id, so that listing 1 is not removed.
  if (name.endsWith('_id')) return auth === 'maintainer' ? NOTHING_OF_THAT_ID : 1;
  if (type === 'number' || type === 'integer') return Math.max(1, minimum ?? 0);
  if (type === 'boolean') return true;
  return type === 'array' ? [] : 'A text of some words';
}

function pathOf({ path, name }: EndpointShape): string {
  const id = /^(?:withdraw|cancel)/.test(name) ? NOTHING_OF_THAT_ID : 1;
  return path.replace(/:(\w+)/g, (_, parameter: string) => (parameter === 'handle' ? 'keeper' : String(id)));
}

function readsOf({ method, query }: EndpointShape, path: string): HostileRequest[] {
  const names = query === undefined ? ['unknown'] : namesOf(query);
  const plain = { method, headers: {}, body: null };
  const queries = [
    ...names.flatMap((name) =>
      Object.entries(VALUES).flatMap(([content, fill]) =>
        // A search may have 100 characters, which take 300 to 1,200 bytes when encoded.
        [HEAD_ROOM, 1_200, 300].map((room) => ({
          content: `${content} in ${name}, ${room} bytes`,
          path: `${path}?${name}=${fill(room - name.length)}`,
        })),
      ),
    ),
    ...Object.entries(QUERIES).map(([content, fill]) => ({ content, path: `${path}?${fill(HEAD_ROOM)}` })),
  ];
  const heads = HEADERS.map(([name, content, fill]) => ({
    ...plain,
    content: `${name}: ${content}`,
    path,
    headers: { [name]: fill(HEAD_ROOM) },
  }));
  return [...queries.map((one) => ({ ...plain, ...one })), ...heads];
}

function namesOf(query: z.ZodType): string[] {
  const { properties } = z.toJSONSchema(query, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
  const names = Object.keys((properties ?? {}) as object);
  return names.length === 0 ? ['unknown'] : names;
}

function longParams({ method, path, params }: EndpointShape): HostileRequest[] {
  if (params === undefined) return [];
  return Object.entries(VALUES).map(([content, fill]) => ({
    ...{ method, headers: {}, body: null, content: `${content} in the path` },
    path: path.replace(/:\w+/, fill(HEAD_ROOM)),
  }));
}
