import { readFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { openApiText as cityText } from '../../src/city/pages/create-pages.ts';
import { NETWORKS } from '../../src/contract/vocabulary.ts';

const market = readFileSync(new URL('../../docs/reference/openapi.json', import.meta.url), 'utf8');

interface Content {
  content: Record<string, { example?: unknown }>;
}

interface Operation {
  operationId: string;
  parameters: { name: string; description?: string }[];
  requestBody?: Content & { required: boolean };
  responses: Record<string, Content>;
}

const holdsExample = ({ content }: Content): boolean => Object.values(content).some(({ example }) => Boolean(example));

/** Applies redocly's default rules and returns the findings, including warnings. */
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

  it('says what every parameter is', () => {
    const { paths } = JSON.parse(text) as { paths: Record<string, Record<string, Operation>> };
    const bare = Object.values(paths)
      .flatMap((path) => Object.values(path))
      .flatMap(({ operationId, parameters }) =>
        parameters.filter(({ description = '' }) => description === '').map(({ name }) => `${operationId}.${name}`),
      );
    expect(bare).toEqual([]);
  });

  it('is OpenAPI 3.1 by its schema', async () => {
    expect(await new Validator().validate(JSON.parse(text))).toEqual({ valid: true });
  });
});

it('shows an answer that was given for every operation, and of every body what was sent', () => {
  const { paths } = JSON.parse(market) as { paths: Record<string, Record<string, Operation>> };
  const operations = Object.values(paths).flatMap((path) => Object.values(path));
  const isDone = ([status]: [string, unknown]): boolean => Number(status) < 300;
  const without = operations.filter(({ requestBody, responses }) => {
    const [, done] =
      Object.entries(responses)
        .filter(isDone)
        .find(([, answer]) => holdsExample(answer)) ?? [];
    return done === undefined || (requestBody?.required === true && !holdsExample(requestBody));
  });
  expect(without.map(({ operationId }) => operationId)).toEqual([]);
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
