import { readFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { openApiText as cityText } from '../../src/city/pages/create-pages.ts';
import { NETWORKS } from '../../src/contract/vocabulary.ts';

const market = readFileSync(new URL('../../docs/reference/openapi.json', import.meta.url), 'utf8');

/** What the rules find that redocly applies where nothing is configured, warnings too. */
async function lint(source: string): Promise<string[]> {
  const config = await createConfig({ extends: ['recommended'] });
  const problems = await lintFromString({ source, config });
  return problems.map(({ ruleId, message }) => `${ruleId}: ${message}`);
}

describe.each([
  ['the market', market],
  ['a city', cityText('https://city.example', NETWORKS.base)],
])('the description of %s', (_whose, text) => {
  it('is clean by the recommended rules of redocly', async () => {
    expect(await lint(text)).toEqual([]);
  });

  it('is OpenAPI 3.1 by its schema', async () => {
    expect(await new Validator().validate(JSON.parse(text))).toEqual({ valid: true });
  });
});

it('what these two would not let pass: one path twice, an operation without a summary, a field that there is not', async () => {
  const broken = JSON.parse(market) as { paths: Record<string, Record<string, Record<string, unknown>>> };
  const listing = broken.paths['/api/listing/{id}'] ?? {};
  broken.paths['/api/listing/{listing_id}'] = { get: { ...listing['get'], operationId: 'twice', summary: undefined } };
  const found = await lint(JSON.stringify(broken));
  for (const rule of ['no-identical-paths', 'operation-summary', 'path-parameters-defined'])
    expect(
      found.some((problem) => problem.startsWith(rule)),
      rule,
    ).toBe(true);
  const { valid } = await new Validator().validate({ ...JSON.parse(market), path: {} });
  expect(valid).toBe(false);
});
