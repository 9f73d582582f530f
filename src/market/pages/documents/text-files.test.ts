import { describe, expect, it } from 'vitest';
import { endpoints } from '../../../contract/index.ts';
import { PATHS } from '../../connect/interaction.ts';
import { STREAM_PATH } from '../../events/stream/mount-event-stream.ts';
import { robotsText, securityText } from '../create-pages.ts';
import { KEY_PAGES } from '../key-page/create-key-pages.ts';
import { securityContact } from './support.ts';

const DAY_MS = 86_400_000;
const NOON = Date.UTC(2026, 6, 1, 12);
const FACTS = { baseUrl: 'https://market.example', sourceUrl: null, contactUrl: null };

/** Parses lines of the form `name: value`. */
function fieldsOf(text: string): [string, string][] {
  expect(text.endsWith('\n')).toBe(true);
  return text
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [, name = '', value = ''] = /^([A-Za-z-]+): (\S.*)$/.exec(line) ?? [];
      expect([line, name]).not.toEqual([line, '']);
      return [name, value];
    });
}

/** Applies RFC 9309: the longest matching rule decides, and on a tie the one that allows. */
function mayCrawl(path: string): boolean {
  const rules = fieldsOf(robotsText()).slice(1);
  const fits = rules.flatMap(([kind, rule]) => {
    const source = rule.replaceAll(/[.?+()[\]{}|^]/g, '\\$&').replaceAll('*', '.*');
    return new RegExp(`^${source}`).test(path) ? [{ allows: kind === 'Allow', length: rule.length }] : [];
  });
  const longest = Math.max(...fits.map(({ length }) => length));
  return fits.some(({ allows, length }) => allows && length === longest);
}

describe('robots.txt', () => {
  it('is for all crawlers, and knows no rules but the two', () => {
    const fields = fieldsOf(robotsText());
    expect(fields[0]).toEqual(['User-agent', '*']);
    expect(new Set(fields.slice(1).map(([name]) => name))).toEqual(new Set(['Allow', 'Disallow']));
  });

  it('opens every public read, and closes writes, private reads, doors and authorization', () => {
    const at = (path: string): string => path.replaceAll(/:[a-z_]+/g, '12');
    const open = new Set<string>();
    for (const { method, path, auth } of Object.values(endpoints)) {
      if (method === 'GET' && (auth === 'audit' || auth === 'public')) open.add(at(path));
    }
    for (const { path } of Object.values(endpoints)) {
      expect([path, mayCrawl(at(path))]).toEqual([path, open.has(at(path))]);
    }
    for (const path of ['/', '/about', '/docs/errors/not_found', '/llms.txt', '/.well-known/security.txt', '/assets/a'])
      expect([path, mayCrawl(path)]).toEqual([path, true]);
    for (const path of [...KEY_PAGES.map((keyPage) => keyPage.path), ...Object.values(PATHS), STREAM_PATH])
      expect([path, mayCrawl(path)]).toEqual([path, false]);
  });
});

describe('security.txt', () => {
  const fields = Object.fromEntries(fieldsOf(securityText(FACTS, NOON)));

  it('has the fields that RFC 9116 wants, each once', () => {
    expect(fieldsOf(securityText(FACTS, NOON))).toHaveLength(Object.keys(fields).length);
    expect(fields).toMatchObject({
      Contact: 'https://market.example/support',
      Canonical: 'https://market.example/.well-known/security.txt',
      Policy: 'https://market.example/support',
    });
  });

  it('runs out in less than a year, and is the same all day', () => {
    const aheadMs = Date.parse(fields['Expires'] ?? '') - NOON;
    expect(aheadMs).toBeGreaterThan(90 * DAY_MS);
    expect(aheadMs).toBeLessThan(365 * DAY_MS);
    expect(securityText(FACTS, NOON + DAY_MS / 2 - 1)).toBe(securityText(FACTS, NOON));
    expect(securityText(FACTS, NOON + DAY_MS / 2)).not.toBe(securityText(FACTS, NOON));
  });

  it('leads to the advisories of the source where its host has them, and nowhere else', () => {
    const at = (sourceUrl: string) => securityContact({ ...FACTS, sourceUrl }).url;
    expect(at('https://github.com/example/market/')).toBe('https://github.com/example/market/security/advisories/new');
    for (const other of ['https://git.example/market', 'https://github.com.example/x'])
      expect(at(other)).toBe('https://market.example/support');
  });

  it('names the contact of the operator before anything else', () => {
    const facts = { ...FACTS, sourceUrl: 'https://github.com/example/market', contactUrl: 'mailto:a@b.example' };
    expect(fieldsOf(securityText(facts, NOON))[0]).toEqual(['Contact', 'mailto:a@b.example']);
    expect(securityContact(facts).says).toContain('[a@b.example](mailto:a@b.example)');
  });
});
