import { expect, it } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { marketContext } from '../../../test/support/market-context.ts';
import { endpoints } from '../../contract/index.ts';
import { guide } from './guide.ts';

const db = testDatabase({ migrated: false });
const guideText = (cityUrl: string | null): string =>
  JSON.stringify(guide({ ...marketContext({ database: db.database }).config, cityUrl }));

it('leads to the city where there is one, and to addresses that exist', () => {
  expect(guideText(null)).not.toContain('/api/world/');
  const text = guideText('https://city.example');
  expect(text).toContain('https://city.example');
  const named = [...text.matchAll(/(?:GET|POST|DELETE|PATCH) (\/api\/[a-z/-]+)/g)].map(([, path = '']) => path);
  const served = Object.values(endpoints).map(({ path }) => path.replace(/:\w+.*$/, ''));
  // The city serves this path.
  expect(named.filter((path) => !served.includes(path))).toEqual(['/api/market-link']);
});
