import sql, { join, raw, type Sql } from 'sql-template-tag';
import {
  ATTRIBUTE_NAMES,
  type Attributes,
  FIELD_NAMES,
  type FieldName,
  type FieldValues,
} from '../../../contract/listing-fields.ts';

// A field is a column of the same name in `listings`: statements, and what is read of rows, are made of the names.

const list = (names: readonly string[], table: string): Sql => raw(names.map((name) => `${table}${name}`).join(', '));

export const fieldColumns = list(FIELD_NAMES, '');
export const attributeColumns = list(ATTRIBUTE_NAMES, 'l.');

/** In the order of `fieldColumns`. */
export const fieldValues = (fields: FieldValues): Sql => join(FIELD_NAMES.map((name) => fields[name]));

export const setFields = (fields: FieldValues): Sql =>
  join(FIELD_NAMES.map((name) => sql`${raw(name)} = ${fields[name]}`));

type Given = { readonly [K in FieldName]?: FieldValues[K] | undefined };

/** These alone; null where nothing was said. */
export function fieldsOf(given: Given): FieldValues {
  return Object.fromEntries(FIELD_NAMES.map((name) => [name, given[name] ?? null])) as FieldValues;
}

export function attributesOf(row: Readonly<Attributes>): Attributes {
  return Object.fromEntries(ATTRIBUTE_NAMES.map((name) => [name, row[name]])) as Attributes;
}
