import { z } from 'zod';
import type { EndpointShape } from '../../contract/endpoint.ts';
import type { Endpoints } from '../../contract/index.ts';
import type { JsonSchema } from '../../contract/json-schemas.ts';
import type { ToolForm } from '../../contract/tools.ts';

/** What text in an address stands for, by the pattern that it has to fit: tools take the value itself. */
const SPOKEN: readonly [pattern: RegExp, schema: JsonSchema][] = [
  [/^\^\[1-9\]/, { type: 'integer', minimum: 1 }],
  [/^\^\(\?:0\|\[1-9\]\\d\{0,8\}\)\$$/, { type: 'integer', minimum: 0 }],
  [/^\^\(\?:0\|\[1-9\]\\d\{0,4\}\)\(\?:\\\.\\d/, { type: 'number', minimum: 0 }],
];

interface ObjectSchema extends JsonSchema {
  properties?: Record<string, JsonSchema>;
  required?: string[];
  $defs?: Record<string, JsonSchema>;
}

/** The arguments of a tool: what its endpoint takes in address and body, side by side under the same names. */
export function toolInput(endpoints: Endpoints, asks: readonly ToolForm[] | 'front_door'): JsonSchema {
  if (asks === 'front_door') return objectOf([]);
  const parts = asks.map((form) => partsOf(endpoints[form.endpoint], form.id));
  if (parts.length === 1) return objectOf(parts.flat());
  // Of several forms a caller takes one, so nothing is required here; the tool says which one it needs.
  return { ...objectOf(parts.flat().map((part) => ({ ...part, required: [] }))), minProperties: 1 };
}

function partsOf(endpoint: EndpointShape, id: string | undefined): ObjectSchema[] {
  const params = endpoint.params ? [renamed(spoken(sent(endpoint.params)), id)] : [];
  const query = endpoint.query ? [spoken(sent(endpoint.query))] : [];
  return [...params, ...query, ...(endpoint.body ? [sent(endpoint.body)] : [])];
}

function sent(schema: z.ZodType): ObjectSchema {
  const { $schema: _, ...made } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as ObjectSchema;
  return made;
}

function renamed(schema: ObjectSchema, id: string | undefined): ObjectSchema {
  const field = schema.properties?.['id'];
  return id === undefined || field === undefined ? schema : { ...schema, properties: { [id]: field }, required: [id] };
}

function spoken(schema: ObjectSchema): ObjectSchema {
  const properties = Object.entries(schema.properties ?? {}).map(([name, field]) => [name, speak(field)] as const);
  return { ...schema, properties: Object.fromEntries(properties) };
}

function speak(field: JsonSchema): JsonSchema {
  const { pattern, enum: values } = field;
  const told = { ...(field['description'] === undefined ? {} : { description: field['description'] }) };
  if (JSON.stringify(values) === '["true","false"]') return { type: 'boolean', ...told };
  const form = typeof pattern === 'string' ? SPOKEN.find(([known]) => known.test(pattern)) : undefined;
  return form === undefined ? field : { ...form[1], ...told, ...defaultOf(field) };
}

function defaultOf({ default: value }: JsonSchema): JsonSchema {
  return value === undefined ? {} : { default: value };
}

function objectOf(parts: readonly ObjectSchema[]): JsonSchema {
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
