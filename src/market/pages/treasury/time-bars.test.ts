import { expect, it } from 'vitest';
import type { FeesOfDay } from './store.ts';
import { spreadOverTime } from './time-bars.ts';

const NOW_MS = Date.UTC(2026, 2, 4, 15, 30);
const feeOfDay = (day: string, fees = 1n): FeesOfDay => ({ day, fees, units: fees * 1_000_000n });
const fromOf = (days: readonly FeesOfDay[]) => spreadOverTime(days, NOW_MS).bars.map(({ from }) => from);

it('has a fortnight to show before there is anything, and with one fee of today', () => {
  const { span, bars } = spreadOverTime([], NOW_MS);
  expect(span).toBe('day');
  expect(bars).toHaveLength(14);
  expect([bars[0]?.from, bars.at(-1)?.from]).toEqual(['2026-02-19', '2026-03-04']);
  expect(bars.every(({ fees, units }) => fees === 0n && units === 0n)).toBe(true);
  expect(spreadOverTime([feeOfDay('2026-03-04')], NOW_MS).bars.at(-1)).toEqual({
    from: '2026-03-04',
    fees: 1n,
    units: 1_000_000n,
  });
});

it('takes days up to a month, then weeks from Monday, then months, then years', () => {
  expect(spreadOverTime([feeOfDay('2026-02-02')], NOW_MS)).toMatchObject({ span: 'day', bars: { length: 31 } });
  const weeks = spreadOverTime([feeOfDay('2026-02-01')], NOW_MS);
  expect(weeks.span).toBe('week');
  expect(weeks.bars.at(-1)?.from).toBe('2026-03-02');
  expect(weeks.bars.find(({ fees }) => fees === 1n)?.from).toBe('2026-01-26');
  expect(spreadOverTime([feeOfDay('2025-02-27')], NOW_MS)).toMatchObject({ span: 'week', bars: { length: 54 } });
  const months = spreadOverTime([feeOfDay('2025-02-01')], NOW_MS);
  expect([months.span, months.bars[0]?.from, months.bars.length]).toEqual(['month', '2025-02-01', 14]);
  expect(fromOf([feeOfDay('2020-12-31')]).slice(-2)).toEqual(['2025-01-01', '2026-01-01']);
});

it('loses no fee, whatever the span and also from a clock that goes ahead of ours', () => {
  for (const first of ['2026-03-01', '2026-01-15', '2025-06-30', '2021-05-05', '1999-12-31']) {
    const days = [feeOfDay(first, 3n), feeOfDay('2026-03-03', 2n), feeOfDay('2026-03-05', 4n)];
    const { bars } = spreadOverTime(days, NOW_MS);
    expect([first, bars.reduce((sum, { fees }) => sum + fees, 0n)]).toEqual([first, 9n]);
    expect([...bars].sort((a, b) => a.from.localeCompare(b.from))).toEqual(bars);
  }
});
