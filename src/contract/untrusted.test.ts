import { expect, it } from 'vitest';
import { marketDocument } from '../../test/support/market-document.ts';
import type { JsonSchema } from './json-schemas.ts';
import { UNTRUSTED } from './text.ts';

const document = marketDocument();

/** Names of fields that hold text of merchants in any answer. */
const WRITTEN = new Set([
  'title',
  'artifact',
  'description',
  'preview',
  'tags',
  'keywords',
  'license',
  'artifact_media_type',
  'artifact_filename',
  'filename',
  'client_name',
  'media_type',
  'body',
  'statement',
  'line',
  'store_line',
  'withdrawn_reason',
  'removed_reason',
  'outcome_reason',
  'reason',
  'note',
  'did_you_mean',
  'used_as',
  'first_line',
]);
/** Fields with one of these names that contain no text of merchants. */
const EXCEPTIONS: Record<string, string> = {
  'OfficialFacts.statement': 'the market’s own',
  'Review.reason': 'a code of the market',
  'Problem.title': 'a row of the table of errors',
  'getHelp.title': 'the market’s own',
  'X402RequirementsV1.description': 'the market’s own, as in the two below',
  'X402Challenge.description': 'the market’s own',
  'X402ProofV2.description': 'the market’s own',
  'getListing.artifact': 'says how the goods are bought',
};

interface Field {
  name: string;
  said: boolean;
}

/** Lists every text field of an answer, and whether it is marked as untrusted. */
function fieldsOf(schema: unknown, place: string): Field[] {
  if (Array.isArray(schema)) return schema.flatMap((one) => fieldsOf(one, place));
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties, ...rest } = schema as JsonSchema;
  const inside = Object.values(rest).flatMap((value) => fieldsOf(value, place));
  const here = Object.entries((properties ?? {}) as Record<string, JsonSchema>).flatMap(([name, field]) => [
    ...(holdsText(field) ? [{ name: `${place}.${name}`, said: JSON.stringify(field).includes(UNTRUSTED) }] : []),
    ...fieldsOf(field, place),
  ]);
  return [...here, ...inside];
}

function holdsText(field: JsonSchema): boolean {
  const forms = [field, ...((field['anyOf'] ?? []) as JsonSchema[])];
  return forms.some(
    ({ type, items, enum: values, format }) =>
      values === undefined &&
      format === undefined &&
      ([type].flat().includes('string') ||
        (type === 'array' && (items as JsonSchema | undefined)?.['type'] === 'string')),
  );
}

const ofSchemas = Object.entries((document['components'] as { schemas: Record<string, unknown> }).schemas).flatMap(
  ([name, schema]) => fieldsOf(schema, name),
);
const ofAnswers = Object.values(document.paths)
  .flatMap((path) => Object.values(path))
  .flatMap(({ operationId, responses }) =>
    Object.entries(responses as Record<string, JsonSchema>)
      .filter(([status]) => Number(status) < 300)
      .flatMap(([, response]) => fieldsOf(response['content'], String(operationId))),
  );
const fields = [...ofSchemas, ...ofAnswers];

it('every field of an answer with text of users is marked as data', () => {
  const written = fields.filter(({ name }) => {
    const field = name.split('.')[1] ?? '';
    return WRITTEN.has(field) && !(name in EXCEPTIONS);
  });
  expect(written.filter(({ said }) => !said).map(({ name }) => name)).toEqual([]);
  const named = new Set(written.map(({ name }) => name));
  for (const name of [
    'ListingSummary.title',
    'Merchant.store_line',
    'Delivery.artifact',
    'Comment.body',
    'Flag.reason',
  ]) {
    expect(named).toContain(name);
  }
  expect(named.size).toBeGreaterThan(25);
});

it('no other field is marked, and no exception is left over', () => {
  const names = new Set(fields.map(({ name }) => name));
  expect(Object.keys(EXCEPTIONS).filter((name) => !names.has(name))).toEqual([]);
  const others = fields.filter(({ name, said }) => {
    const field = name.split('.')[1] ?? '';
    return said && !WRITTEN.has(field);
  });
  expect(others.map(({ name }) => name)).toEqual([]);
});

it('flagged texts stand next to their flags', () => {
  const flagged = Object.entries(
    (document['components'] as { schemas: Record<string, { properties?: Record<string, JsonSchema> }> }).schemas,
  ).filter(([, { properties }]) => properties !== undefined && 'text_flags' in properties);
  expect(flagged.map(([name]) => name).sort()).toEqual(['Comment', 'ListingDetail', 'ListingSummary', 'Reply']);
});
