import { expect, it } from 'vitest';
import { REASONS } from '../../../contract/errors.ts';
import { endpoints } from '../../../contract/index.ts';
import { API_VERSION } from '../../../contract/vocabulary.ts';
import { changelogJson } from '../create-pages.ts';
import { VERSIONS } from './changes.ts';

it('names every endpoint and every reason of the contract under the version that brought it, once', () => {
  const named = (of: 'endpoints' | 'reasons'): string[] => VERSIONS.flatMap((entry) => [...entry[of]]).sort();
  expect(named('endpoints')).toEqual(Object.keys(endpoints).sort());
  expect(named('reasons')).toEqual([...REASONS].sort());
});

it('begins with the version that is served, and each is older than the one before', () => {
  const numbers = VERSIONS.map(({ version }) => version.split('.').map(Number));
  expect(VERSIONS[0]?.version).toBe(API_VERSION);
  for (const [at, [major = 0, minor = 0, patch = 0]] of numbers.entries()) {
    const [newerMajor = 0, newerMinor = 0, newerPatch = 0] = numbers[at - 1] ?? [Number.POSITIVE_INFINITY];
    expect(newerMajor - major || newerMinor - minor || newerPatch - patch).toBeGreaterThan(0);
  }
});

it('tells programs where each endpoint is', () => {
  const { api_version, versions } = changelogJson();
  expect(api_version).toBe(API_VERSION);
  expect(versions.at(-1)?.endpoints).toContainEqual({
    name: 'getOfficialFacts',
    method: 'GET',
    path: '/api/official',
  });
});
