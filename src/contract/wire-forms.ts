import { z } from 'zod';

/**
 * JSON Schemas shown for schemas that validate by code, such as a number sent as text in a URL, or a length counted after normalization.
 * Helpers build the shown schema and the check from the same limit.
 */
const forms = z.registry<WireForm>();

/** JSON Schema keywords. */
export type WireForm = Readonly<Record<string, unknown>>;

/** Makes documents show the schema as `form`, without changing the check. */
export function describedAs<S extends z.ZodType>(schema: S, form: WireForm): S {
  forms.add(schema, form as never);
  return schema;
}

/** Returns the form of a schema, or of the schema that it refines. */
export function wireFormOf(schema: z.core.$ZodType): WireForm | undefined {
  const form = forms.get(schema as never);
  return form === undefined || Object.keys(form).length === 0 ? undefined : (form as WireForm);
}

/** Schema of `true` or `false` in a URL. */
export function flagText() {
  return describedAs(z.enum(['true', 'false']), { type: 'boolean' });
}
