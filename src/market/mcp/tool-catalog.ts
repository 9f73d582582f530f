import { z } from 'zod';
import type { EndpointShape } from '../../contract/endpoint.ts';
import { type Endpoints, endpoints } from '../../contract/index.ts';
import { type JsonSchema, showWireForm } from '../../contract/json-schemas.ts';
import { UNTRUSTED } from '../../contract/text.ts';
import { withDescriptions } from '../../contract/tool-arguments.ts';
import { needsCity, TOOLS, type Tool, type ToolForm } from '../../contract/tools.ts';

interface ObjectSchema extends JsonSchema {
  properties?: Record<string, JsonSchema>;
  required?: string[];
  $defs?: Record<string, JsonSchema>;
}

/** Builds the schema of a tool's arguments: its endpoint's path, query and body fields, side by side under the same names. */
function toolInput({ asks, defaults = {} }: Tool): ObjectSchema {
  if (asks === 'front_door') return objectOf([]);
  const parts = asks.map((form) => partsOf(endpoints[form.endpoint], form.id));
  // If there are several endpoints, the caller picks one, so the schema requires nothing; the tool's description says what to give.
  const all = parts.length === 1 ? parts.flat() : parts.flat().map((part) => ({ ...part, required: [] }));
  const { properties = {}, required = [], ...rest } = objectOf(all);
  const listing = listingArgument(asks);
  const described = Object.entries(properties).map(([argument, schema]) => {
    const value = defaults[argument];
    const isNeeded = argument === listing && required.includes(argument);
    const needed = isNeeded ? { description: `${String(schema['description'])}; required` } : {};
    return [
      argument,
      { ...shortenSchema(schema), ...(value === undefined ? {} : { default: value }), ...needed },
    ] as const;
  });
  return {
    ...rest,
    properties: { ...Object.fromEntries(described), ...(listing === null ? {} : LISTING_ALIASES[listing]) },
    // The schema requires neither name of the listing, because it may be given under either.
    required: required.filter((argument) => argument !== listing),
  };
}

/** Returns the argument that holds the listing's id, or null if the tool takes none. */
export function listingArgument(asks: readonly ToolForm[]): ListingArgument | null {
  const [form, another] = asks;
  if (form === undefined || another !== undefined) return null;
  const names = partsOf(endpoints[form.endpoint], form.id).flatMap(({ properties = {} }) => Object.keys(properties));
  if (names.includes('listing_id')) return 'listing_id';
  return names.includes('id') && form.id === undefined ? 'id' : null;
}

export type ListingArgument = 'id' | 'listing_id';

const LISTING_ALIASES = {
  id: { listing_id: { type: 'integer', description: 'the same as id' } },
  listing_id: { id: { type: 'integer', description: 'the same as listing_id' } },
};

/** Leaves out patterns and lengths, because the route checks them and its refusal tells a model more. */
function shortenSchema(schema: JsonSchema): JsonSchema {
  const { pattern: _, minLength: __, maxLength: ___, maximum, ...kept } = schema;
  const bound = maximum === Number.MAX_SAFE_INTEGER || maximum === undefined ? {} : { maximum };
  const { properties } = schema as ObjectSchema;
  if (properties === undefined) return { ...kept, ...bound };
  const inside = Object.entries(properties).map(([name, field]) => [name, shortenSchema(field)]);
  return { ...kept, properties: Object.fromEntries(inside) };
}

function partsOf(endpoint: EndpointShape, id: string | undefined): ObjectSchema[] {
  const params = endpoint.params ? [renameId(inputSchema(endpoint.params), id)] : [];
  const parts = [...params, ...[endpoint.query, endpoint.body].flatMap((part) => (part ? [inputSchema(part)] : []))];
  return parts.map((part) => withDescriptions(endpoint.name, part));
}

/** Converts a schema as the OpenAPI document does. Text in a URL becomes a number or boolean for a tool. */
function inputSchema(schema: z.ZodType): ObjectSchema {
  const form = { io: 'input', unrepresentable: 'any', override: showWireForm } as const;
  const { $schema: _, ...made } = z.toJSONSchema(schema, form) as ObjectSchema;
  return withoutNull(made) as ObjectSchema;
}

/** Removes null from the types, because tools treat null as an omitted argument. */
function withoutNull(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNull);
  if (typeof value !== 'object' || value === null) return value;
  const { anyOf, ...rest } = value as JsonSchema;
  const forms = Array.isArray(anyOf) ? (anyOf as JsonSchema[]).filter(({ type }) => type !== 'null') : undefined;
  const [only, another] = forms ?? [];
  const whole = only === undefined ? rest : another === undefined ? { ...only, ...rest } : { ...rest, anyOf: forms };
  return Object.fromEntries(Object.entries(whole).map(([name, one]) => [name, withoutNull(one)]));
}

function renameId(schema: ObjectSchema, id: string | undefined): ObjectSchema {
  const field = schema.properties?.['id'];
  return id === undefined || field === undefined ? schema : { ...schema, properties: { [id]: field }, required: [id] };
}

function objectOf(parts: readonly ObjectSchema[]): ObjectSchema {
  const required = parts.flatMap((part) => part.required ?? []).filter((name) => !isDefaulted(parts, name));
  const $defs = Object.assign({}, ...parts.map((part) => part.$defs ?? {})) as Record<string, JsonSchema>;
  return {
    type: 'object',
    properties: Object.assign({}, ...parts.map((part) => part.properties ?? {})) as Record<string, JsonSchema>,
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
    ...(Object.keys($defs).length > 0 ? { $defs } : {}),
  };
}

function isDefaulted(parts: readonly ObjectSchema[], name: string): boolean {
  return parts.some((part) => part.properties?.[name]?.['default'] !== undefined);
}

/** Shorter than UNTRUSTED, because `_meta` carries the warning once for the whole result. */
const MERCHANT_TEXT = 'text of a merchant';

/** Members listed in the output schema of a tool that changes something. */
const WRITE_MEMBERS =
  /^(?:\w+_)?(?:id|url|tx_hash)$|^(?:(?:world_)?state|(?:payment_)?status|reason|next_step|retry|challenge|artifact\w*|receipt|minimum_amount_units|seller_wallet|expires_at|dry_run)$/;
/** Members listed for nested objects in the output schema of a tool that changes something. */
const NESTED_MEMBERS = /^(?:id|url|state|payment_status|challenge|minimum_amount_units|seller_wallet|expires_at)$/;
/** Left out, because it is a number in refusals and text in answers, and both must match one schema. */
const OMITTED_MEMBER = 'status';

/** Lists the members of a tool's answer with their types. Refusals match it too. The OpenAPI document has the whole schema. */
function toolOutput({ asks, hints }: Tool): JsonSchema {
  if (asks === 'front_door') return { type: 'object' };
  const answers = asks.flatMap((form) => answersOf(endpoints, form.endpoint));
  const properties: Record<string, JsonSchema> = {};
  for (const answer of answers) Object.assign(properties, membersOf(answer, answer, !hints.readOnlyHint));
  return { type: 'object', properties };
}

function membersOf(schema: JsonSchema, root: JsonSchema, isWriting: boolean): Record<string, JsonSchema> {
  const { properties, anyOf } = resolveRef(schema, root);
  const forms = (anyOf as JsonSchema[] | undefined) ?? [];
  const members = forms.flatMap((form) => Object.entries(membersOf(form, root, isWriting)));
  for (const [name, member] of Object.entries((properties as Record<string, JsonSchema> | undefined) ?? {})) {
    const kind = name === OMITTED_MEMBER ? null : kindOf(name, member, root);
    if (kind === null) continue;
    if (!isWriting || WRITE_MEMBERS.test(name)) members.push([name, kind]);
    else if (kind['type'] === 'object') {
      const inside = Object.keys(membersOf(member, root, true)).filter((one) => NESTED_MEMBERS.test(one));
      if (inside.length > 0) members.push([name, { type: 'object', description: `with ${inside.join(', ')}` }]);
    }
  }
  return Object.fromEntries(members);
}

function resolveRef(schema: JsonSchema, { $defs = {} }: JsonSchema): JsonSchema {
  const { $ref } = schema;
  if (typeof $ref !== 'string') return schema;
  return ($defs as Record<string, JsonSchema>)[$ref.slice('#/$defs/'.length)] ?? {};
}

/** Returns the member's type, with null where allowed. Returns null if it may be one of several types. */
function kindOf(name: string, member: JsonSchema, root: JsonSchema): JsonSchema | null {
  const { type, anyOf } = resolveRef(member, root);
  // Zod writes `type` for plain types and `anyOf` for others.
  const forms =
    type === undefined
      ? ((anyOf as JsonSchema[] | undefined) ?? []).map((form) => resolveRef(form, root)['type'])
      : [type].flat();
  const [only, ...others] = new Set(forms.filter((one) => one !== 'null'));
  if (typeof only !== 'string' || others.length > 0) return null;
  // `artifact` is null where large goods are linked instead.
  return { type: forms.includes('null') || name === 'artifact' ? [only, 'null'] : only };
}

/** Returns whether an answer may contain text of merchants. */
function holdsMerchantText(endpoints: Endpoints, { asks }: Pick<Tool, 'asks'>): boolean {
  if (asks === 'front_door') return false;
  return asks.some((form) => JSON.stringify(answersOf(endpoints, form.endpoint)).includes(MERCHANT_TEXT));
}

function answersOf(endpoints: Endpoints, name: keyof Endpoints): JsonSchema[] {
  return Object.values(endpoints[name].answers).map((schema: z.ZodType) => {
    const { $schema: _, ...made } = z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' }) as JsonSchema;
    const { required } = made;
    return { ...(withoutBounds(made) as JsonSchema), ...(required === undefined ? {} : { required }) };
  });
}

/** Keywords left out of output schemas, which hosts may show to a model. The OpenAPI document has them. */
const OMITTED_KEYWORDS = new Set([
  ...['additionalProperties', 'required', 'pattern', 'format', 'minimum', 'maximum', 'exclusiveMinimum'],
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'propertyNames', 'id'],
]);

function withoutBounds(value: unknown, isNames = false): unknown {
  if (Array.isArray(value)) return value.map((one) => withoutBounds(one));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([keyword]) => isNames || !OMITTED_KEYWORDS.has(keyword));
  return Object.fromEntries(kept.map(([keyword, member]) => [keyword, memberWithoutBounds(keyword, member, isNames)]));
}

function memberWithoutBounds(keyword: string, value: unknown, isNames: boolean): unknown {
  if (keyword === 'description' && !isNames && value === UNTRUSTED) return MERCHANT_TEXT;
  return withoutBounds(value, !isNames && (keyword === 'properties' || keyword === '$defs'));
}

export interface KnownTool extends Tool {
  holdsMerchantText: boolean;
}

const WALLET_NOTE = ' A wallet is enough; with a merchant key the purchase is kept under your store.';

const CATALOG: ReadonlyMap<string, KnownTool> = new Map(
  TOOLS.map((tool) => [tool.name, { ...tool, holdsMerchantText: holdsMerchantText(endpoints, tool) }]),
);

export function findTool(name: string): KnownTool | undefined {
  return CATALOG.get(name);
}

export function typeOfArgument(tool: string, argument: string): unknown {
  const schema = DESCRIBED_TOOLS.find(({ listed }) => listed.name === tool)?.listed.inputSchema as
    | ObjectSchema
    | undefined;
  return schema?.properties?.[argument]?.['type'];
}

/** Decides which tools are listed: the maintainer's tools only for the maintainer, city tools only if there is a city. */
export interface ToolAudience {
  isMaintainer: boolean;
  hasCity: boolean;
}

/** Lists the tools in a fixed order. An unlisted tool can still be called; its route then decides. */
export function listTools({ isMaintainer, hasCity }: ToolAudience) {
  return DESCRIBED_TOOLS.filter(
    ({ tool }) => (isMaintainer || tool.kind !== 'maintainer') && (hasCity || !needsCity(tool)),
  ).map(({ listed }) => listed);
}

const DESCRIBED_TOOLS = [...CATALOG.values()].map((tool) => ({
  tool,
  listed: {
    name: tool.name,
    title: tool.title,
    description: tool.name === 'buy' ? `${tool.description}${WALLET_NOTE}` : tool.description,
    inputSchema: toolInput(tool) as { type: 'object' },
    outputSchema: toolOutput(tool) as { type: 'object' },
    annotations: { title: tool.title, ...tool.hints },
  },
}));
