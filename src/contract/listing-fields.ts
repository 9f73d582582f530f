import { z } from 'zod';
import { boundedText, publicText, UNTRUSTED } from './text.ts';
import { AISLES } from './vocabulary.ts';
import { describedAs } from './wire-forms.ts';

/** Characters of an SPDX license expression. Its grammar is not checked. */
const LICENSE = /^[A-Za-z0-9.+:()-]+(?: [A-Za-z0-9.+:()-]+)*$/;
export const LICENSE_EXAMPLES =
  'must be an SPDX license expression such as MIT, CC-BY-4.0, LicenseRef-my-terms or "MIT OR Apache-2.0", or the word other';

/**
 * Optional short texts about goods, null if omitted. Each is the column of the same name in `listings`. Shelves filter by the exact text,
 * the listing's page shows it, and a purchase keeps it.
 */
export const ATTRIBUTES = {
  license: {
    label: 'License',
    example: 'MIT',
    text: z.string().max(100).regex(LICENSE, LICENSE_EXAMPLES),
    says: 'license of the goods: an SPDX license expression, or `other`',
  },
} as const satisfies Record<string, { label: string; example: string; text: z.ZodString; says: string }>;
export type AttributeName = keyof typeof ATTRIBUTES;
export type Attributes = Record<AttributeName, string | null>;
export const ATTRIBUTE_NAMES = Object.keys(ATTRIBUTES) as readonly AttributeName[];

type Attribute = (typeof ATTRIBUTES)[AttributeName];
const ofAttributes = <T>(make: (attribute: Attribute) => T): Record<AttributeName, T> =>
  Object.fromEntries(ATTRIBUTE_NAMES.map((name) => [name, make(ATTRIBUTES[name])])) as Record<AttributeName, T>;

/** Attributes in answers. They default to null, so that answers of the previous version, which had none, stay readable. */
export const shownAttributes = ofAttributes(({ says }) =>
  z.string().nullable().default(null).describe(`${says}; null: not stated; ${UNTRUSTED}`),
);
export const attributeFilters = ofAttributes(({ text, label }) =>
  text.optional().describe(`only this ${label.toLowerCase()}, spelled exactly as in the listing`),
);

const MEDIA_TYPE =
  /^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}(?:; ?[a-z0-9-]{1,32}=[A-Za-z0-9._-]{1,64})?$/;

export const tagsIn = z
  .array(z.string().regex(/^[a-z0-9-]{1,40}$/, 'must be 1 to 40 of a-z, 0-9 and -'))
  .max(8)
  .refine((tags) => new Set(tags).size === tags.length, 'must not repeat a tag')
  .default([]);

/** Numbers of keywords in a listing, and of characters (code points) in a keyword. */
export const KEYWORD_LIMITS = { keywords: 20, characters: 40 } as const;

/** A word or phrase in one line, without spaces around it. A comma is refused because it separates keywords wherever people type or read them. */
const keyword = describedAs(
  z.string().transform((raw, context) => {
    const outcome = boundedText(raw.trim(), { min: 1, max: KEYWORD_LIMITS.characters });
    if ('text' in outcome && !outcome.text.includes(',')) return outcome.text;
    const message = 'fault' in outcome ? outcome.fault : 'must not have a comma: give each keyword by itself';
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  }),
  { type: 'string', minLength: 1, maxLength: KEYWORD_LIMITS.characters, pattern: '^[^,]*$' },
);

/** Folds case, width and spaces, in which two keywords must differ by more. */
export function foldKeyword(text: string): string {
  return text.normalize('NFKC').toUpperCase().toLowerCase().replace(/\s+/gu, ' ');
}

export const keywordsIn = z
  .array(keyword)
  .max(KEYWORD_LIMITS.keywords)
  .refine((words) => new Set(words.map(foldKeyword)).size === words.length, 'must not repeat a keyword')
  .default([]);

/** Keywords in answers. They default to none, so that answers of the previous version, which had none, stay readable. */
export const shownKeywords = z.array(z.string()).default([]).describe(UNTRUSTED);

interface FieldRule {
  schema: z.ZodType;
  /** `free_goods`: may change only in free goods, because the field defines what a buyer paid for. */
  changes: 'before_sale' | 'free_goods';
}

/** Fields that a merchant sets and may change until the first purchase. Each is the column of the same name in `listings`. */
export const LISTING_FIELDS = {
  title: { schema: publicText(3, 120), changes: 'free_goods' },
  description: { schema: publicText(1, 4_000, { multiline: true }), changes: 'before_sale' },
  preview: { schema: publicText(0, 4_000, { multiline: true }), changes: 'before_sale' },
  tags: { schema: tagsIn, changes: 'before_sale' },
  keywords: { schema: keywordsIn, changes: 'before_sale' },
  aisle: { schema: z.enum(AISLES).optional(), changes: 'before_sale' },
  ...ofAttributes(({ text, says }) => ({
    schema: text.describe(says).optional(),
    changes: 'before_sale' as const,
  })),
  artifact_encoding: {
    schema: z.enum(['utf-8', 'base64']).describe('encoding of artifact in this message').default('utf-8'),
    changes: 'free_goods',
  },
  artifact_media_type: {
    schema: z.string().regex(MEDIA_TYPE, 'must be a lower-case media type').optional(),
    changes: 'free_goods',
  },
  artifact_filename: {
    schema: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._ -]{0,99}$/, 'must be a plain file name of 1 to 100 characters')
      .optional(),
    changes: 'free_goods',
  },
} as const satisfies Record<string, FieldRule>;

export type FieldName = keyof typeof LISTING_FIELDS;
export const FIELD_NAMES = Object.keys(LISTING_FIELDS) as readonly FieldName[];

/** Fields compared between a purchase and a newer version. The others describe the artifact and change with it. */
export type ComparedField = Exclude<FieldName, `artifact_${string}`>;
export const COMPARED_FIELDS = FIELD_NAMES.filter((name) => !name.startsWith('artifact_')) as readonly ComparedField[];

type FieldSchemas = { [K in FieldName]: (typeof LISTING_FIELDS)[K]['schema'] };
type Bare<T> = T extends z.ZodDefault<infer U> | z.ZodOptional<infer U> ? U : T;
type Edited = {
  [K in FieldName]: z.ZodOptional<
    K extends AttributeName ? z.ZodNullable<Bare<FieldSchemas[K]>> : Bare<FieldSchemas[K]>
  >;
};

export const newListingFields = Object.fromEntries(
  FIELD_NAMES.map((name) => [name, LISTING_FIELDS[name].schema]),
) as FieldSchemas;
/** Schemas for an edit. They have no defaults, because an edit must know which fields were sent. */
export const editedFields = Object.fromEntries(FIELD_NAMES.map((name) => [name, editedField(name)])) as Edited;

function editedField(name: FieldName): z.ZodType {
  const { schema, changes } = LISTING_FIELDS[name];
  const bare = schema instanceof z.ZodDefault || schema instanceof z.ZodOptional ? schema.unwrap() : schema;
  if (Object.hasOwn(ATTRIBUTES, name))
    return bare.nullable().optional().describe(`${bare.description}; null (in a tool, an empty text) removes it`);
  if (changes === 'before_sale') return bare.optional();
  return bare.optional().describe([bare.description, 'free goods only'].filter(Boolean).join('; '));
}

/** Stored values of the fields; null if omitted. */
export type FieldValues = {
  [K in FieldName]: undefined extends z.output<FieldSchemas[K]>
    ? Exclude<z.output<FieldSchemas[K]>, undefined> | null
    : z.output<FieldSchemas[K]>;
};
