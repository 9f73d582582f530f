import { z } from 'zod';
import { wireFormOf } from './wire-forms.ts';

export type JsonSchema = { [keyword: string]: unknown };

export interface SchemaPool {
  /** What a client sends. */
  sent(schema: z.ZodType): JsonSchema;
  /** What a client reads; fields may be added later, so others are never ruled out. */
  read(schema: z.ZodType): JsonSchema;
  /** The named schemas that both have pointed to. */
  components(): Record<string, JsonSchema>;
}

/** JSON Schemas of a document: named ones (`meta({ id })`) stand once under components. */
export function createSchemaPool(): SchemaPool {
  const named = new Map<string, string>();

  const convert = (schema: z.ZodType, io: 'input' | 'output'): JsonSchema => {
    const override = io === 'input' ? { override: showWireForm } : {};
    const given = z.toJSONSchema(schema, { io, unrepresentable: 'any', ...override }) as JsonSchema;
    const { $schema: _, $defs, ...made } = given;
    for (const [name, definition] of Object.entries(($defs ?? {}) as Record<string, JsonSchema>)) {
      const text = JSON.stringify(mend(definition, io));
      const known = named.get(name);
      if (known !== undefined && known !== text) throw new Error(`two schemas are called ${name}`);
      named.set(name, text);
    }
    return mend(made, io) as JsonSchema;
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

/** The form of who sends takes the place of the form of the text that it travels in. Other keywords are kept. */
export function showWireForm({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodType; jsonSchema: object }): void {
  const form = wireFormOf(zodSchema);
  if (form === undefined) return;
  const schema = jsonSchema as JsonSchema;
  for (const keyword of ['type', 'pattern', 'enum', 'format']) delete schema[keyword];
  Object.assign(schema, form);
}

function mend(value: unknown, io: 'input' | 'output'): unknown {
  if (Array.isArray(value)) return value.map((item) => mend(item, io));
  if (typeof value !== 'object' || value === null) return value;
  const dated = 'format' in value && value.format === 'date-time';
  const entries = Object.entries(withNamedKeys(value)).filter(
    ([keyword, given]) => !isNoise(keyword, given, dated, io),
  );
  return Object.fromEntries(
    entries.map(([keyword, given]) => [
      keyword,
      keyword === '$ref' && typeof given === 'string'
        ? given.replace('#/$defs/', '#/components/schemas/')
        : mend(given, io),
    ]),
  );
}

/** A record over known keys is an object that has them: generators of clients read properties, and no `propertyNames`. */
function withNamedKeys(schema: JsonSchema | object): JsonSchema {
  const { propertyNames, additionalProperties, ...others } = schema as JsonSchema;
  const keys = (propertyNames as JsonSchema | undefined)?.['enum'];
  if (!Array.isArray(keys)) return schema as JsonSchema;
  return { ...others, properties: Object.fromEntries(keys.map((key) => [key, additionalProperties])) };
}

/** True and of no use to a reader: the bounds of every integer, the calendar as an expression, and that nothing will ever be added. */
function isNoise(keyword: string, given: unknown, dated: boolean, io: 'input' | 'output'): boolean {
  if (keyword === 'minimum') return given === Number.MIN_SAFE_INTEGER;
  if (keyword === 'maximum') return given === Number.MAX_SAFE_INTEGER;
  if (keyword === 'pattern') return dated && typeof given === 'string';
  return keyword === 'additionalProperties' && given === false && io === 'output';
}
