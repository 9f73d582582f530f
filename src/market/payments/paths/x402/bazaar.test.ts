import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { EndpointShape } from '../../../../contract/endpoint.ts';
import { endpoints } from '../../../../contract/index.ts';
import { readJson } from '../../../../platform/http/read-json.ts';
import { describeForBazaar } from './payment-required.ts';

const PAID = Object.values<EndpointShape>(endpoints).filter(({ payment }) => payment === true);

function described(path: string) {
  const found = describeForBazaar(path);
  if (found === null) throw new Error(`nothing is said of ${path}`);
  return found;
}

describe('what a 402 tells catalogs of paid services', () => {
  it.each(PAID)('of $path fits its own schema, and its example is a body that the route takes', (endpoint) => {
    const { info, schema } = described(endpoint.path.replaceAll(/:\w+/g, '7'));
    expect(z.fromJSONSchema(schema as z.core.JSONSchema.JSONSchema).safeParse(info).error).toBeUndefined();
    const { body, method } = info.input;
    expect(method).toBe(endpoint.method);
    expect(endpoint.body?.safeParse(body).error).toBeUndefined();
    expect(body).not.toEqual({});
  });

  it('names the fields of body and answer as the contract has them', () => {
    const { schema } = described('/api/buy/7');
    expect(schema).toMatchObject({
      properties: {
        input: { properties: { method: { enum: ['POST'] }, body: { properties: { collect: { type: 'boolean' } } } } },
        output: {
          properties: {
            example: { properties: { artifact: { type: ['string', 'null'] }, purchase: { type: ['object', 'null'] } } },
          },
        },
      },
    });
  });

  it('puts all listings under one entry by a template, and tells each by its id', () => {
    const [one, other] = [described('/api/buy/1'), described('/api/buy/22')];
    expect([one['routeTemplate'], other['routeTemplate']]).toEqual(['/api/buy/:id', '/api/buy/:id']);
    expect([one.info.input['pathParams'], other.info.input['pathParams']]).toEqual([{ id: '1' }, { id: '22' }]);
    expect(described('/api/listing')).not.toHaveProperty('routeTemplate');
    expect(describeForBazaar('/api/buy/1/more')).toBeNull();
    expect(describeForBazaar('/api/me')).toBeNull();
  });

  it('is short, since clients send it back in a header, and is JSON as this market reads it', () => {
    for (const { path } of PAID) {
      const text = JSON.stringify({ bazaar: described(path.replaceAll(/:\w+/g, '9007199254740991')) });
      expect(Buffer.from(text).toString('base64').length).toBeLessThan(3_200);
      expect(readJson(Buffer.from(text))).toEqual(JSON.parse(text));
    }
  });
});
