import { expect, test } from 'vitest';
import { settableClock } from '../../../test/support/market-context.ts';
import { createProviders } from './provider.ts';
import { createStandings } from './standing.ts';

const NOW = 1_800_000_000_000;

function pair() {
  const clock = settableClock(NOW);
  const standings = createStandings(createProviders(['http://127.0.0.1:1', 'http://127.0.0.1:2'], clock), clock);
  const [one, other] = standings.all;
  if (one === undefined || other === undefined) throw new Error('two were made');
  const secondsLater = (seconds: number): void => clock.set(clock.now() + seconds * 1_000);
  const head = (number: bigint) => ({ number, timestamp: BigInt(Math.floor(clock.now() / 1_000)) });
  return { standings, one, other, secondsLater, head };
}

test('silence costs the say after more than a minute of it, and one answer brings it back', () => {
  const { standings, other, secondsLater, head } = pair();
  other.noteSilence();
  secondsLater(60);
  other.noteSilence();
  expect(other.leftOut(standings.best())).toBeNull();
  secondsLater(1);
  other.noteSilence();
  expect(other.leftOut(standings.best())).toBe('silent');
  other.noteHead(head(1n));
  expect(other.leftOut(standings.best())).toBeNull();
});

test('time that merely went by costs nothing: after a sleep of the machine everybody is asked first', () => {
  const { standings, one, other, secondsLater, head } = pair();
  one.noteHead(head(5n));
  other.noteHead(head(4n));
  other.noteOpinion(false);
  secondsLater(3_600);
  one.noteHead(head(1_800n));
  expect(other.leftOut(standings.best())).toBeNull();
  other.noteHead(head(1_799n));
  expect(other.leftOut(standings.best())).toBeNull();
});

test('a head that stands still is stuck only where another one is ahead: a chain that has stopped is nobody’s fault', () => {
  const { standings, one, other, secondsLater, head } = pair();
  for (let seconds = 0; seconds <= 80; seconds += 10) {
    for (const standing of [one, other]) standing.noteHead(head(7n));
    secondsLater(10);
  }
  expect(standings.all.map((standing) => standing.leftOut(standings.best()))).toEqual([null, null]);
  one.noteHead(head(8n));
  expect(standings.all.map((standing) => standing.leftOut(standings.best()))).toEqual([null, 'stuck']);
  other.noteHead(head(8n));
  expect(other.leftOut(standings.best())).toBeNull();
});

test('a provider that claims a head far in the future takes the say from nobody who moves', () => {
  const { standings, one, other, secondsLater, head } = pair();
  one.noteHead({ number: 1_000_000n, timestamp: 9_999_999_999n });
  for (let number = 1n; number < 20n; number += 1n) {
    other.noteHead(head(number));
    secondsLater(10);
  }
  expect(other.leftOut(standings.best())).toBeNull();
  other.noteHead(head(20n));
  expect(other.isLate()).toBe(false);
});

test('a failure of long ago and one of now are two, and not a long silence', () => {
  const { standings, other, secondsLater, head } = pair();
  other.noteOpinion(false);
  other.noteHead(head(1n));
  secondsLater(86_400);
  other.noteHead(head(2n));
  other.noteOpinion(false);
  expect(other.leftOut(standings.best())).toBeNull();
});

test('what serves leads, in the order of the configuration', () => {
  const { standings, one, other, secondsLater, head } = pair();
  expect(standings.leaders()).toEqual([one, other]);
  one.noteSilence();
  expect(standings.leaders()).toEqual([other, one]);
  expect(one.isPausing()).toBe(true);
  secondsLater(2);
  expect(one.isPausing()).toBe(false);
  one.noteHead(head(1n));
  expect(standings.leaders()).toEqual([one, other]);
});

test('one that cannot say anything about payments loses its say for them alone', () => {
  const { standings, other, secondsLater, head } = pair();
  for (let seconds = 0; seconds <= 70; seconds += 10) {
    expect(other.leftOut(standings.best())).toBeNull();
    other.noteHead(head(3n + BigInt(seconds)));
    other.noteOpinion(false);
    secondsLater(10);
  }
  expect(other.leftOut(standings.best())).toBe('mute');
  other.noteOpinion(true);
  expect(other.leftOut(standings.best())).toBeNull();
});
