import { z } from 'zod';
import { publicText, UNTRUSTED } from './text.ts';
import { AISLES } from './vocabulary.ts';

/** One part of an SPDX license expression, as far as characters go: ids, operators and brackets. */
const LICENSE = /^[A-Za-z0-9.+:()-]+(?: [A-Za-z0-9.+:()-]+)*$/;
export const LICENSE_EXAMPLES =
  'must be an SPDX license expression such as MIT, CC-BY-4.0, LicenseRef-my-terms or "MIT OR Apache-2.0", or else other';

/**
 * What may be said of goods in a short text of its own; what is left out is null. Each is a column of `listings` of the same name. Shelves
 * filter by the whole text, the page of the listing shows it, and a purchase keeps it.
 */
export const ATTRIBUTES = {
  license: {
    label: 'License',
    example: 'MIT',
    text: z.string().max(100).regex(LICENSE, LICENSE_EXAMPLES),
    says: 'under which license the goods come: an SPDX license expression, or `other`',
  },
} as const satisfies Record<string, { label: string; example: string; text: z.ZodString; says: string }>;
export type AttributeName = keyof typeof ATTRIBUTES;
export type Attributes = Record<AttributeName, string | null>;
export const ATTRIBUTE_NAMES = Object.keys(ATTRIBUTES) as readonly AttributeName[];

type Attribute = (typeof ATTRIBUTES)[AttributeName];
const ofAttributes = <T>(make: (attribute: Attribute) => T): Record<AttributeName, T> =>
  Object.fromEntries(ATTRIBUTE_NAMES.map((name) => [name, make(ATTRIBUTES[name])])) as Record<AttributeName, T>;

/** As answers show them. A market of the version before shows none, and what it hands over must be readable. */
export const shownAttributes = ofAttributes(({ says }) =>
  z.string().nullable().default(null).describe(`${says}; null: not said; ${UNTRUSTED}`),
);
/** As a query of the shelves names them. */
export const attributeFilters = ofAttributes(({ text, label }) =>
  text.optional().describe(`exactly this ${label.toLowerCase()}, as the listing spells it`),
);

const MEDIA_TYPE =
  /^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}(?:; ?[a-z0-9-]{1,32}=[A-Za-z0-9._-]{1,64})?$/;

export const tagsIn = z
  .array(z.string().regex(/^[a-z0-9-]{1,40}$/, 'must be 1 to 40 of a-z, 0-9 and -'))
  .max(8)
  .refine((tags) => new Set(tags).size === tags.length, 'must not repeat a tag')
  .default([]);

interface FieldRule {
  given: z.ZodType;
  /** What a buyer was asked money for stays what it is, so some change in free goods only. */
  changes: 'before_sale' | 'free_goods';
}

/** What a merchant says of new goods and may change until their first purchase. Each is a column of `listings` of the same name. */
export const LISTING_FIELDS = {
  title: { given: publicText(3, 120), changes: 'free_goods' },
  description: { given: publicText(1, 4_000, { multiline: true }), changes: 'before_sale' },
  preview: { given: publicText(0, 4_000, { multiline: true }), changes: 'before_sale' },
  tags: { given: tagsIn, changes: 'before_sale' },
  aisle: { given: z.enum(AISLES).optional(), changes: 'before_sale' },
  ...ofAttributes(({ text, says }) => ({
    given: text.describe(says).optional(),
    changes: 'before_sale' as const,
  })),
  artifact_encoding: {
    given: z.enum(['utf-8', 'base64']).describe('of the artifact sent along').default('utf-8'),
    changes: 'free_goods',
  },
  artifact_media_type: {
    given: z.string().regex(MEDIA_TYPE, 'must be a lower-case media type').optional(),
    changes: 'free_goods',
  },
  artifact_filename: {
    given: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._ -]{0,99}$/, 'must be a plain file name of 1 to 100 characters')
      .optional(),
    changes: 'free_goods',
  },
} as const satisfies Record<string, FieldRule>;

export type FieldName = keyof typeof LISTING_FIELDS;
export const FIELD_NAMES = Object.keys(LISTING_FIELDS) as readonly FieldName[];

/** In which a newer version is compared with what was bought; the others say how the goods are written, and go with these. */
export type ComparedField = Exclude<FieldName, `artifact_${string}`>;
export const COMPARED_FIELDS = FIELD_NAMES.filter((name) => !name.startsWith('artifact_')) as readonly ComparedField[];

type FieldSchemas = { [K in FieldName]: (typeof LISTING_FIELDS)[K]['given'] };
type Bare<T> = T extends z.ZodDefault<infer U> | z.ZodOptional<infer U> ? U : T;
type Edited = {
  [K in FieldName]: z.ZodOptional<
    K extends AttributeName ? z.ZodNullable<Bare<FieldSchemas[K]>> : Bare<FieldSchemas[K]>
  >;
};

/** Of a new listing. */
export const givenFields = Object.fromEntries(
  FIELD_NAMES.map((name) => [name, LISTING_FIELDS[name].given]),
) as FieldSchemas;
/** Of an edit, which has to know what was named: no defaults. */
export const editedFields = Object.fromEntries(FIELD_NAMES.map((name) => [name, editedField(name)])) as Edited;

function editedField(name: FieldName): z.ZodType {
  const { given, changes } = LISTING_FIELDS[name];
  const bare = given instanceof z.ZodDefault || given instanceof z.ZodOptional ? given.unwrap() : given;
  if (Object.hasOwn(ATTRIBUTES, name))
    return bare.nullable().optional().describe(`${bare.description}; null, by a tool an empty text: not said`);
  if (changes === 'before_sale') return bare.optional();
  return bare.optional().describe([bare.description, 'free goods only'].filter(Boolean).join('; '));
}

/** As they are kept: null where nothing was said. */
export type FieldValues = {
  [K in FieldName]: undefined extends z.output<FieldSchemas[K]>
    ? Exclude<z.output<FieldSchemas[K]>, undefined> | null
    : z.output<FieldSchemas[K]>;
};
