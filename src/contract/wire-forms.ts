import { z } from 'zod';

/**
 * What a schema says of itself to who has to fulfil it, where the check is code: a number that travels as text in an address, a length
 * that is counted after normalization. Each stands next to its check, in the helper that makes both from the same limit.
 */
const forms = z.registry<WireForm>();

/** Keywords of JSON Schema. */
export type WireForm = Readonly<Record<string, unknown>>;

/** The same schema, which the description of the interface shows as `form`. What is checked does not change. */
export function describedAs<S extends z.ZodType>(schema: S, form: WireForm): S {
  forms.add(schema, form as never);
  return schema;
}

/** The form of a schema, or of the one that it was refined from. */
export function wireFormOf(schema: z.core.$ZodType): WireForm | undefined {
  const form = forms.get(schema as never);
  return form === undefined || Object.keys(form).length === 0 ? undefined : (form as WireForm);
}

/** `true` or `false` in an address. */
export function flagText() {
  return describedAs(z.enum(['true', 'false']), { type: 'boolean' });
}
