import { z } from 'zod';
import type { EndpointShape } from '../../contract/endpoint.ts';
import { type Endpoints, endpoints } from '../../contract/index.ts';
import { type JsonSchema, showWireForm } from '../../contract/json-schemas.ts';
import { UNTRUSTED } from '../../contract/text.ts';
import { withWords } from '../../contract/tool-arguments.ts';
import { needsCity, TOOLS, type Tool, type ToolForm } from '../../contract/tools.ts';

interface ObjectSchema extends JsonSchema {
  properties?: Record<string, JsonSchema>;
  required?: string[];
  $defs?: Record<string, JsonSchema>;
}

/** The arguments of a tool: what its endpoint takes in address and body, side by side under the same names. */
function toolInput({ asks, defaults = {} }: Tool): ObjectSchema {
  if (asks === 'front_door') return objectOf([]);
  const parts = asks.map((form) => partsOf(endpoints[form.endpoint], form.id));
  // Of several forms a caller takes one, so nothing is required here; the tool says which one it needs.
  const all = parts.length === 1 ? parts.flat() : parts.flat().map((part) => ({ ...part, required: [] }));
  const { properties = {}, required = [], ...rest } = objectOf(all);
  const listing = listingArgument(asks);
  const described = Object.entries(properties).map(([argument, schema]) => {
    const value = defaults[argument];
    const needed = argument === listing ? { description: `${String(schema['description'])}; required` } : {};
    return [argument, { ...shortened(schema), ...(value === undefined ? {} : { default: value }), ...needed }] as const;
  });
  return {
    ...rest,
    properties: { ...Object.fromEntries(described), ...(listing === null ? {} : SAME_LISTING[listing]) },
    // The other name of the same argument counts as given.
    required: required.filter((argument) => argument !== listing),
  };
}

/** What a listing's id is called here; null: no listing is meant. */
export function listingArgument(asks: readonly ToolForm[]): ListingArgument | null {
  const [form, another] = asks;
  if (form === undefined || another !== undefined) return null;
  const names = partsOf(endpoints[form.endpoint], form.id).flatMap(({ properties = {} }) => Object.keys(properties));
  if (names.includes('listing_id')) return 'listing_id';
  return names.includes('id') && form.id === undefined ? 'id' : null;
}

export type ListingArgument = 'id' | 'listing_id';

const SAME_LISTING = {
  id: { listing_id: { type: 'integer', description: 'the same as id' } },
  listing_id: { id: { type: 'integer', description: 'the same as listing_id' } },
};

/** Patterns and lengths are the route's to check: what a refusal says of them is more than a model reads out of them. */
function shortened(schema: JsonSchema): JsonSchema {
  const { pattern: _, minLength: __, maxLength: ___, maximum, ...kept } = schema;
  const bound = maximum === Number.MAX_SAFE_INTEGER || maximum === undefined ? {} : { maximum };
  const { properties } = schema as ObjectSchema;
  if (properties === undefined) return { ...kept, ...bound };
  const inside = Object.entries(properties).map(([name, field]) => [name, shortened(field)]);
  return { ...kept, properties: Object.fromEntries(inside) };
}

function partsOf(endpoint: EndpointShape, id: string | undefined): ObjectSchema[] {
  const params = endpoint.params ? [renamed(sent(endpoint.params), id)] : [];
  const parts = [...params, ...[endpoint.query, endpoint.body].flatMap((part) => (part ? [sent(part)] : []))];
  return parts.map((part) => withWords(endpoint.name, part));
}

/** As the description of the interface shows it: what travels as text in an address is a number or a truth value to a tool. */
function sent(schema: z.ZodType): ObjectSchema {
  const form = { io: 'input', unrepresentable: 'any', override: showWireForm } as const;
  const { $schema: _, ...made } = z.toJSONSchema(schema, form) as ObjectSchema;
  return withoutNull(made) as ObjectSchema;
}

/** Null is as if nothing was given, so no argument is said to take it. */
function withoutNull(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNull);
  if (typeof value !== 'object' || value === null) return value;
  const { anyOf, ...rest } = value as JsonSchema;
  const forms = Array.isArray(anyOf) ? (anyOf as JsonSchema[]).filter(({ type }) => type !== 'null') : undefined;
  const [only, another] = forms ?? [];
  const whole = only === undefined ? rest : another === undefined ? { ...only, ...rest } : { ...rest, anyOf: forms };
  return Object.fromEntries(Object.entries(whole).map(([name, one]) => [name, withoutNull(one)]));
}

function renamed(schema: ObjectSchema, id: string | undefined): ObjectSchema {
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

/** In place of the long warning, which `_meta` gives once for the whole result. */
const TEXT_OF_A_MERCHANT = 'text of a merchant';

/** Members by which the answer of a tool that changes something is known. */
const NAMED_IN_WRITING =
  /^(?:\w+_)?(?:id|url|tx_hash)$|^(?:(?:world_)?state|(?:payment_)?status|reason|next_step|retry|challenge|artifact\w*|receipt|minimum_amount_units|seller_wallet|expires_at|dry_run)$/;
/** Of these, what an object within such an answer is known by. */
const NAMED_INSIDE = /^(?:id|url|state|payment_status|challenge|minimum_amount_units|seller_wallet|expires_at)$/;
/** A number in refusals, and text in answers: both are held against one schema, so it says nothing of it. */
const UNSAID = 'status';

/**
 * What a tool answers, by name and kind: enough to know what to look for, and true of a refusal too, whose members the instructions of
 * this server name once. Everything in full is in the OpenAPI document.
 */
function toolOutput({ asks, hints }: Tool): JsonSchema {
  if (asks === 'front_door') return { type: 'object' };
  const answers = asks.flatMap((form) => answersOf(endpoints, form.endpoint));
  const properties: Record<string, JsonSchema> = {};
  for (const answer of answers) Object.assign(properties, membersOf(answer, answer, !hints.readOnlyHint));
  return { type: 'object', properties };
}

function membersOf(schema: JsonSchema, root: JsonSchema, isWriting: boolean): Record<string, JsonSchema> {
  const { properties, anyOf } = resolved(schema, root);
  const forms = (anyOf as JsonSchema[] | undefined) ?? [];
  const members = forms.flatMap((form) => Object.entries(membersOf(form, root, isWriting)));
  for (const [name, member] of Object.entries((properties as Record<string, JsonSchema> | undefined) ?? {})) {
    const kind = name === UNSAID ? null : kindOf(name, member, root);
    if (kind === null) continue;
    if (!isWriting || NAMED_IN_WRITING.test(name)) members.push([name, kind]);
    else if (kind['type'] === 'object') {
      const inside = Object.keys(membersOf(member, root, true)).filter((one) => NAMED_INSIDE.test(one));
      if (inside.length > 0) members.push([name, { type: 'object', description: `with ${inside.join(', ')}` }]);
    }
  }
  return Object.fromEntries(members);
}

function resolved(schema: JsonSchema, { $defs = {} }: JsonSchema): JsonSchema {
  const { $ref } = schema;
  if (typeof $ref !== 'string') return schema;
  return ($defs as Record<string, JsonSchema>)[$ref.slice('#/$defs/'.length)] ?? {};
}

/** Its type alone, or that and null; null where it may be one of several. */
function kindOf(name: string, member: JsonSchema, root: JsonSchema): JsonSchema | null {
  const { type, anyOf } = resolved(member, root);
  // Of plain types there is a list, of others a choice.
  const forms =
    type === undefined
      ? ((anyOf as JsonSchema[] | undefined) ?? []).map((form) => resolved(form, root)['type'])
      : [type].flat();
  // Large goods are linked, and none then.
  const [only, ...others] = new Set(forms.filter((one) => one !== 'null'));
  if (typeof only !== 'string' || others.length > 0) return null;
  return { type: forms.includes('null') || name === 'artifact' ? [only, 'null'] : only };
}

/** Whether what merchants wrote can stand in an answer. */
function holdsMerchantText(endpoints: Endpoints, { asks }: Pick<Tool, 'asks'>): boolean {
  if (asks === 'front_door') return false;
  return asks.some((form) => JSON.stringify(answersOf(endpoints, form.endpoint)).includes(TEXT_OF_A_MERCHANT));
}

function answersOf(endpoints: Endpoints, name: keyof Endpoints): JsonSchema[] {
  return Object.values(endpoints[name].answers).map((schema: z.ZodType) => {
    const { $schema: _, ...made } = z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' }) as JsonSchema;
    const { required } = made;
    return { ...(withoutBounds(made) as JsonSchema), ...(required === undefined ? {} : { required }) };
  });
}

/** What a reader needs and no more: hosts may show it to a model. Forms, bounds and what is always there stay in the OpenAPI document. */
const OMITTED_KEYWORDS = new Set([
  ...['additionalProperties', 'required', 'pattern', 'format', 'minimum', 'maximum', 'exclusiveMinimum'],
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'propertyNames', 'id'],
]);

function withoutBounds(value: unknown, isNames = false): unknown {
  if (Array.isArray(value)) return value.map((one) => withoutBounds(one));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([keyword]) => isNames || !OMITTED_KEYWORDS.has(keyword));
  return Object.fromEntries(kept.map(([keyword, given]) => [keyword, memberWithoutBounds(keyword, given, isNames)]));
}

function memberWithoutBounds(keyword: string, given: unknown, isNames: boolean): unknown {
  if (keyword === 'description' && !isNames && given === UNTRUSTED) return TEXT_OF_A_MERCHANT;
  return withoutBounds(given, !isNames && (keyword === 'properties' || keyword === '$defs'));
}

export interface KnownTool extends Tool {
  holdsMerchantText: boolean;
}

const WALLET = ' A wallet is enough; with a merchant key the purchase is kept under your store.';

const BOOK: ReadonlyMap<string, KnownTool> = new Map(
  TOOLS.map((tool) => [tool.name, { ...tool, holdsMerchantText: holdsMerchantText(endpoints, tool) }]),
);

export function findTool(name: string): KnownTool | undefined {
  return BOOK.get(name);
}

/** The type of an argument in the schema of its tool. */
export function typeOfArgument(tool: string, argument: string): unknown {
  const found = DESCRIBED.find(({ listed }) => listed.name === tool)?.listed.inputSchema as ObjectSchema | undefined;
  return found?.properties?.[argument]?.['type'];
}

/** What a caller may use: the maintainer's tools are shown to the maintainer, those of a city where there is one. */
export interface ListedFor {
  isMaintainer: boolean;
  hasCity: boolean;
}

/** Always in the same order. A tool that is not listed is answered as its route answers. */
export function listTools({ isMaintainer, hasCity }: ListedFor) {
  return DESCRIBED.filter(
    ({ tool }) => (isMaintainer || tool.kind !== 'maintainer') && (hasCity || !needsCity(tool)),
  ).map(({ listed }) => listed);
}

const DESCRIBED = [...BOOK.values()].map((tool) => ({
  tool,
  listed: {
    name: tool.name,
    title: tool.title,
    description: tool.name === 'buy' ? `${tool.description}${WALLET}` : tool.description,
    inputSchema: toolInput(tool) as { type: 'object' },
    outputSchema: toolOutput(tool) as { type: 'object' },
    annotations: { title: tool.title, ...tool.hints },
  },
}));
