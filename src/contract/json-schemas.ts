import { z } from 'zod';
import { wireFormOf } from './wire-forms.ts';

export type JsonSchema = { [keyword: string]: unknown };

export interface SchemaPool {
  /** Schema of values that a client sends. */
  sent(schema: z.ZodType): JsonSchema;
  /** Schema of values that a client reads. It allows unknown fields, because later versions may add some. */
  read(schema: z.ZodType): JsonSchema;
  /** Named schemas that `sent` and `read` have referred to. */
  components(): Record<string, JsonSchema>;
}

/** Collects the JSON Schemas of a document. Named ones (`meta({ id })`) appear once, under components. */
export function createSchemaPool(): SchemaPool {
  const named = new Map<string, string>();

  const convert = (schema: z.ZodType, io: 'input' | 'output'): JsonSchema => {
    const override = io === 'input' ? { override: showWireForm } : {};
    const {
      $schema: _,
      $defs,
      ...converted
    } = z.toJSONSchema(schema, {
      io,
      unrepresentable: 'any',
      ...override,
    }) as JsonSchema;
    for (const [name, definition] of Object.entries(($defs ?? {}) as Record<string, JsonSchema>)) {
      const text = JSON.stringify(tidySchema(definition, io));
      const existing = named.get(name);
      if (existing !== undefined && existing !== text) throw new Error(`two schemas are called ${name}`);
      named.set(name, text);
    }
    return tidySchema(converted, io) as JsonSchema;
  };

  return {
    sent: (schema) => convert(schema, 'input'),
    read: (schema) => convert(schema, 'output'),
    components: () =>
      Object.fromEntries(
        [...named].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, text]) => [name, JSON.parse(text) as JsonSchema]),
      ),
  };
}

/**
 * Replaces type, pattern, enum and format of a schema that validates by code with the form shown in documents (see wire-forms.ts), such as
 * a number that is sent as text in a URL. Keeps all other keywords.
 */
export function showWireForm({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodType; jsonSchema: object }): void {
  const form = wireFormOf(zodSchema);
  if (form === undefined) return;
  const schema = jsonSchema as JsonSchema;
  for (const keyword of ['type', 'pattern', 'enum', 'format']) delete schema[keyword];
  Object.assign(schema, form);
}

/** Removes useless keywords, and points references to the document's components. */
function tidySchema(value: unknown, io: 'input' | 'output'): unknown {
  if (Array.isArray(value)) return value.map((item) => tidySchema(item, io));
  if (typeof value !== 'object' || value === null) return value;
  const dated = 'format' in value && value.format === 'date-time';
  const entries = Object.entries(withNamedKeys(value)).filter(
    ([keyword, member]) => !isNoise(keyword, member, dated, io),
  );
  return Object.fromEntries(
    entries.map(([keyword, member]) => [
      keyword,
      keyword === '$ref' && typeof member === 'string'
        ? member.replace('#/$defs/', '#/components/schemas/')
        : tidySchema(member, io),
    ]),
  );
}

/** Turns a record over known keys into an object with properties, because client generators ignore `propertyNames`. */
function withNamedKeys(schema: JsonSchema | object): JsonSchema {
  const { propertyNames, additionalProperties, ...others } = schema as JsonSchema;
  const keys = (propertyNames as JsonSchema | undefined)?.['enum'];
  if (!Array.isArray(keys)) return schema as JsonSchema;
  return { ...others, properties: Object.fromEntries(keys.map((key) => [key, additionalProperties])) };
}

/**
 * Whether the document omits a keyword: the default bounds of integers, the pattern of a date, or `additionalProperties: false` in answers,
 * to which later versions may add fields.
 */
function isNoise(keyword: string, value: unknown, dated: boolean, io: 'input' | 'output'): boolean {
  if (keyword === 'minimum') return value === Number.MIN_SAFE_INTEGER;
  if (keyword === 'maximum') return value === Number.MAX_SAFE_INTEGER;
  if (keyword === 'pattern') return dated && typeof value === 'string';
  return keyword === 'additionalProperties' && value === false && io === 'output';
}
