import { chromium, type Page } from 'playwright-core';
import { systemClock } from '../../src/platform/clock.ts';
import { findChromium } from '../../test/browser/find-chromium.ts';

/** Results from the page for people in a real browser. */
export interface WatchedWindow {
  rows: number;
  newest: number;
  heard: number;
  /** Share of one core used by the tab while events came. */
  share: number;
  /** The longest time the page was unresponsive. */
  longestTaskMs: number;
  /** DOM nodes at the end. */
  nodes: number;
  faults: string[];
}

export interface WindowWatch {
  /** Resolves when the newest event is on the page, or after a timeout. */
  end(newest: number): Promise<WatchedWindow>;
}

const ROWS = 100;
const WITHIN_MS = 10_000;
const LOOK_MS = 100;

/** Records every new row, and the longest task of the page. */
const WATCH = `(() => {
  window.watched = { ids: [], longest: 0 };
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes) {
      window.watched.ids.push(...[...addedNodes].map(({ id }) => Number(id.slice('event-'.length))).reverse());
    }
  }).observe(document.getElementById('event-rows'), { childList: true });
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) window.watched.longest = Math.max(window.watched.longest, duration);
  }).observe({ type: 'longtask' });
})()`;

export async function watchWindow(url: string, begun: AsyncDisposableStack): Promise<WindowWatch> {
  const browser = await chromium.launch({
    executablePath: findChromium(),
    args: ['--headless', '--no-sandbox', '--disable-gpu'],
  });
  begun.defer(() => browser.close());
  const page = await browser.newPage();
  await page.goto(`${url}/window`);
  await page.locator('#live-state', { hasText: 'Live' }).waitFor();
  await page.evaluate(WATCH);
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  const metrics = async (): Promise<Map<string, number>> => {
    const { metrics: all } = await session.send('Performance.getMetrics');
    return new Map(all.map(({ name, value }) => [name, value]));
  };
  const from = performance.now();
  const before = await metrics();
  return {
    end: async (newest) => {
      const after = await metrics();
      const tookMs = ((after.get('TaskDuration') ?? 0) - (before.get('TaskDuration') ?? 0)) * 1_000;
      const share = tookMs / (performance.now() - from);
      const faults = await waitFor(page, newest);
      const rows = await page.$$eval('#event-rows li', (all) => all.map(({ id }) => Number(id.slice('event-'.length))));
      const { ids, longest } = await page.evaluate<{ ids: number[]; longest: number }>('window.watched');
      return {
        rows: rows.length,
        newest: rows[0] ?? 0,
        heard: ids.length,
        share,
        longestTaskMs: longest,
        nodes: after.get('Nodes') ?? 0,
        faults: [...faults, ...faultsOf(rows, ids, newest)],
      };
    },
  };
}

async function waitFor(page: Page, newest: number): Promise<string[]> {
  const begin = performance.now();
  while ((await page.locator(`#event-${newest}`).count()) === 0) {
    if (performance.now() - begin > WITHIN_MS) return [`the window does not show event ${newest}`];
    await systemClock.sleep(LOOK_MS);
  }
  return [];
}

/** Finds faults in the rows of the page. It shows all events written here, so its numbers must have no gaps. */
function faultsOf(rows: readonly number[], heard: readonly number[], newest: number): string[] {
  const expected = Array.from({ length: Math.min(ROWS, newest) }, (_, at) => newest - at);
  const faults = expected.join() === rows.join() ? [] : [`the window shows ${rows.slice(0, 5).join(', ')} and so on`];
  const gap = heard.findIndex((id, at) => at > 0 && id !== (heard[at - 1] ?? 0) + 1);
  return gap < 0 ? faults : [...faults, `in the window ${heard[gap]} comes after ${heard[gap - 1]}`];
}
