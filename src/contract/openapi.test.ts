import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { marketDocument } from '../../test/support/market-document.ts';
import { endpoint, reasonsOf } from './endpoint.ts';
import { ERRORS, type ErrorRow } from './errors.ts';
import { endpoints } from './index.ts';
import { createSchemaPool } from './json-schemas.ts';
import { API_VERSION } from './vocabulary.ts';

const document = marketDocument();

function strings(value: unknown, keyword: string): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => strings(item, keyword));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) =>
    key === keyword && typeof member === 'string' ? [member] : strings(member, keyword),
  );
}

function at(value: unknown, ...path: (string | number)[]): unknown {
  return path.reduce<unknown>(
    (inside, step) => (inside as Record<string | number, unknown> | undefined)?.[step],
    value,
  );
}

/** Lists fields of a body that have no description, by operation and name. */
function bareFields(schema: unknown, place: string): string[] {
  const { properties = {}, oneOf = [], anyOf = [] } = (schema ?? {}) as Record<string, object | undefined>;
  const inside = [oneOf, anyOf].flatMap((forms) => Object.values(forms));
  return [
    ...inside.flatMap((form) => bareFields(form, place)),
    ...Object.entries(properties).flatMap(([name, field]) => [
      ...(at(field, 'description') === undefined ? [`${place}.${name}`] : []),
      ...bareFields(field, `${place}.${name}`),
    ]),
  ];
}

function parametersOf(path: string, method: string): Map<string, unknown> {
  const parameters = at(document.paths, path, method, 'parameters') as { name: string; schema: unknown }[];
  return new Map(parameters.map(({ name, schema }) => [name, schema]));
}

describe('the OpenAPI document', () => {
  it('has every endpoint under its path and method, with its name', () => {
    const names = Object.values(document.paths).flatMap((path) =>
      Object.values(path).map((operation) => operation['operationId']),
    );
    expect(names.sort()).toEqual(Object.keys(endpoints).sort());
    expect(at(document, 'info', 'version')).toBe(API_VERSION);
    expect(at(document.paths, '/api/listing/{id}', 'get', 'parameters', 0)).toMatchObject({
      name: 'id',
      in: 'path',
      required: true,
    });
    expect(at(document.paths, '/api/shelves', 'get', 'parameters', 3)).toMatchObject({
      name: 'aisle',
      in: 'query',
      required: false,
    });
  });

  it('points only to what it holds, and holds named schemas once', () => {
    const schemas = Object.keys(at(document, 'components', 'schemas') as object);
    const references = strings(document, '$ref').filter((reference) => reference.startsWith('#/components/schemas/'));
    expect(references.length).toBeGreaterThan(10);
    for (const reference of references) expect(schemas).toContain(reference.replace('#/components/schemas/', ''));
    expect(strings(document, '$ref').filter((reference) => !reference.startsWith('#/components/'))).toEqual([]);
    expect(schemas).toEqual(expect.arrayContaining(['ListingSummary', 'Merchant', 'Problem']));
  });

  it('shows requests as they are sent and answers as they are read', () => {
    const body = at(document.paths, '/api/listing', 'post', 'requestBody', 'content', 'application/json', 'schema');
    expect(at(body, 'properties', 'price_usdc')).toMatchObject({ type: 'number', maximum: 10_000 });
    expect(at(body, 'additionalProperties')).toBe(false);
    expect(at(body, 'required')).not.toContain('tags');
    const merchant = at(document, 'components', 'schemas', 'Merchant');
    expect(at(merchant, 'properties', 'id')).toMatchObject({ type: 'integer' });
    expect(at(merchant, 'properties', 'joined_at')).toEqual({ type: 'string', format: 'date-time' });
    expect(at(merchant, 'additionalProperties')).toBeUndefined();
  });

  it('groups the reasons of an endpoint by status, and each stands in one group', () => {
    const responses = at(document.paths, '/api/buy/{id}', 'post', 'responses') as Record<string, unknown>;
    const grouped = Object.entries(responses).flatMap(([status, response]) => {
      const schema = at(
        response,
        'content',
        'application/problem+json',
        'schema',
        'allOf',
        1,
        'properties',
        'reason',
        'enum',
      );
      return ((schema ?? []) as (keyof typeof ERRORS)[]).map((reason) => {
        const row: ErrorRow = ERRORS[reason];
        expect(row.of_proof?.status ?? row.status).toBe(Number(status));
        return reason;
      });
    });
    expect(grouped.sort()).toEqual(reasonsOf(endpoints.buyListing).sort());
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(['200', '202', '402', '500']));
    expect(at(responses, '402', 'headers')).toHaveProperty('PAYMENT-REQUIRED');
  });

  it('says what a 402 offers to sign, and where the goods come as bytes', () => {
    const problemOf = (path: string, status: string): unknown =>
      at(
        document.paths,
        path,
        'post',
        'responses',
        status,
        'content',
        'application/problem+json',
        'schema',
        'allOf',
        1,
      );
    for (const path of ['/api/buy/{id}', '/api/listing']) {
      expect(at(problemOf(path, '402'), 'properties')).toHaveProperty('accepts');
      expect('collect' in (at(problemOf(path, '402'), 'properties') as object)).toBe(path === '/api/buy/{id}');
      expect(at(problemOf(path, '409'), 'properties')).not.toHaveProperty('accepts');
    }
    const contentOf = (path: string, status: string): unknown =>
      at(document.paths, path, 'post', 'responses', status, 'content');
    expect(contentOf('/api/buy/{id}', '200')).toHaveProperty(['application/octet-stream']);
    expect(contentOf('/api/buy/{id}', '202')).not.toHaveProperty(['application/octet-stream']);
    expect(contentOf('/api/listing', '200')).not.toHaveProperty(['application/octet-stream']);
  });

  it('says who may call and with what', () => {
    expect(at(document.paths, '/api/me', 'get', 'security')).toEqual([{ merchantKey: [] }]);
    expect(at(document.paths, '/api/buy/{id}', 'post', 'security')).toEqual([{}, { merchantKey: [] }]);
    expect(at(document.paths, '/api/official', 'get', 'security')).toEqual([]);
    const headers = (
      at(document.paths, '/api/buy/{id}', 'post', 'parameters') as { in: string; name: string }[]
    ).filter((one) => one.in === 'header');
    expect(headers.map(({ name }) => name)).toEqual([
      'X-PAYMENT',
      'PAYMENT-SIGNATURE',
      'X-Delivery-Token',
      'X-Download-Token',
      'X-Recovery-Slip',
    ]);
    expect(at(document.paths, '/api/buy/{id}', 'post', 'requestBody', 'required')).toBe(false);
  });

  it('describes numbers of an address as numbers, with their bounds and defaults', () => {
    const shelves = parametersOf('/api/shelves', 'get');
    expect(shelves.get('limit')).toEqual({ type: 'integer', minimum: 1, maximum: 50, default: 50 });
    expect(shelves.get('max_price_usdc')).toEqual({ type: 'number', minimum: 0, maximum: 99_999.999999 });
    expect(shelves.get('verified_sales_min')).toEqual({ type: 'integer', minimum: 0, maximum: 999_999_999 });
    expect(shelves.get('free')).toEqual({ type: 'boolean' });
    expect(parametersOf('/api/store/{handle}', 'get').get('limit')).toEqual({
      type: 'integer',
      minimum: 1,
      maximum: 50,
    });
    expect(parametersOf('/api/events', 'get').get('before_id')).toEqual({ type: 'integer', minimum: 1 });
    const body = at(document.paths, '/api/listing', 'post', 'requestBody', 'content', 'application/json', 'schema');
    expect(at(body, 'properties', 'title')).toMatchObject({ type: 'string', minLength: 3, maxLength: 120 });
    expect(at(body, 'properties', 'preview')).toMatchObject({ type: 'string', maxLength: 4_000 });
    expect(shelves.get('fields')).toMatchObject({ enum: ['full', 'outline'], default: 'full' });
  });

  it('says what every field of a body is, at every depth', () => {
    const bare = Object.values(document.paths)
      .flatMap((path) => Object.values(path))
      .flatMap((operation) =>
        bareFields(
          at(operation, 'requestBody', 'content', 'application/json', 'schema'),
          String(operation['operationId']),
        ),
      );
    expect(bare).toEqual([]);
    const body = at(document.paths, '/api/listing', 'post', 'requestBody', 'content', 'application/json', 'schema');
    expect(at(body, 'properties', 'fee_payment', 'properties', 'intent_id', 'description')).toContain('fee_intent');
  });

  it('shows headers where they have an effect', () => {
    const headersOf = (path: string): string[] =>
      (at(document.paths, path, 'post', 'parameters') as { in: string; name: string }[])
        .filter((one) => one.in === 'header')
        .map(({ name }) => name);
    const proofs = ['X-PAYMENT', 'PAYMENT-SIGNATURE'];
    expect(headersOf('/api/listing')).toEqual([...proofs, 'X-Recovery-Slip']);
    expect(headersOf('/api/world/listing')).toEqual([...proofs, 'X-Recovery-Slip']);
    for (const path of ['/api/claim/{id}', '/api/purchase-intent/{id}', '/api/fee-intent'])
      expect(headersOf(path)).toEqual(['X-Recovery-Slip']);
    const answered = (path: string, status: string): string[] =>
      Object.keys(at(document.paths, path, 'post', 'responses', status, 'headers') as object);
    for (const status of ['200', '202']) expect(answered('/api/buy/{id}', status)).toContain('X-Delivery-Token');
    expect(answered('/api/listing', '202')).not.toContain('X-Delivery-Token');
    expect(answered('/api/buy/{id}', '202')).toContain('Retry-After');
    for (const status of ['402', '409', '503']) expect(answered('/api/buy/{id}', status)).toContain('Retry-After');
    expect(answered('/api/review/{payment_id}', '422')).toContain('Retry-After');
    expect(answered('/api/vote', '403')).not.toContain('Retry-After');
  });

  it('has one path where routes differ in the name of a parameter alone', () => {
    const forms = Object.keys(document.paths).map((path) => path.replaceAll(/\{[a-z_]+\}/g, '{}'));
    expect(new Set(forms).size).toBe(forms.length);
    expect(Object.keys(document.paths['/api/world/checkout/{id}'] ?? {}).sort()).toEqual(['get', 'post']);
    for (const method of ['get', 'post'])
      expect([...parametersOf('/api/world/checkout/{id}', method).keys()]).toEqual(['id']);
    expect([...parametersOf('/api/world/sync/{listing_id}', 'post').keys()]).toEqual(['listing_id']);
  });

  it('says of each operation what it is for, under a tag that is explained', () => {
    const tags = (document['tags'] as { name: string; description: string }[]).map(({ name }) => name);
    const used = new Set<unknown>();
    for (const operation of Object.values(document.paths).flatMap((path) => Object.values(path))) {
      expect(String(operation['description']).length, String(operation['operationId'])).toBeGreaterThan(30);
      const [tag] = operation['tags'] as string[];
      expect(tags).toContain(tag);
      used.add(tag);
    }
    expect([...used].sort()).toEqual([...tags].sort());
  });

  it('refuses two schemas under one name', () => {
    const pool = createSchemaPool();
    const wrapped = (inner: z.ZodType) => z.object({ inner: inner.meta({ id: 'Twin' }) });
    const first = wrapped(z.object({ a: z.string() }));
    pool.read(first);
    expect(() => pool.read(first)).not.toThrow();
    expect(() => pool.read(wrapped(z.object({ b: z.string() })))).toThrow('Twin');
  });
});

describe('the reasons of an endpoint', () => {
  it('follow from its shape', () => {
    const bare = endpoint({
      name: 'bare',
      method: 'GET',
      path: '/bare',
      summary: '',
      auth: 'public',
      answers: { 200: z.object({}) },
      errors: [],
      cache: 'public',
    });
    expect(reasonsOf(bare)).not.toContain('key_invalid');
    expect(reasonsOf(bare)).not.toContain('malformed_json');
    expect(reasonsOf({ ...bare, auth: 'maintainer' })).toEqual(
      expect.arrayContaining(['key_required', 'key_invalid', 'maintainer_only']),
    );
    expect(reasonsOf({ ...bare, auth: 'optional_key' })).not.toContain('key_required');
    expect(reasonsOf({ ...bare, payment: true })).toContain('two_proofs');
    expect(reasonsOf({ ...bare, body: z.strictObject({}) })).toContain('unsupported_media_type');
  });
});
