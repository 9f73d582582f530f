import { expect, test } from 'vitest';
import { settableClock } from '../../../test/support/market-context.ts';
import { createProviderHealth, createProviders } from './providers.ts';

const NOW = 1_800_000_000_000;

function pair() {
  const clock = settableClock(NOW);
  const providerHealth = createProviderHealth(
    createProviders(['http://127.0.0.1:1', 'http://127.0.0.1:2'], clock),
    clock,
  );
  const [one, other] = providerHealth.all;
  if (one === undefined || other === undefined) throw new Error('two were made');
  const secondsLater = (seconds: number): void => clock.set(clock.now() + seconds * 1_000);
  const head = (number: bigint) => ({ number, timestamp: BigInt(Math.floor(clock.now() / 1_000)) });
  return { providerHealth, one, other, secondsLater, head };
}

test('silence costs the say after more than a minute of it, and one answer brings it back', () => {
  const { providerHealth, other, secondsLater, head } = pair();
  other.noteSilence();
  secondsLater(60);
  other.noteSilence();
  expect(other.exclusionReason(providerHealth.best())).toBeNull();
  secondsLater(1);
  other.noteSilence();
  expect(other.exclusionReason(providerHealth.best())).toBe('silent');
  other.noteHead(head(1n));
  expect(other.exclusionReason(providerHealth.best())).toBeNull();
});

test('time that merely went by costs nothing: after a sleep of the machine everybody is asked first', () => {
  const { providerHealth, one, other, secondsLater, head } = pair();
  one.noteHead(head(5n));
  other.noteHead(head(4n));
  other.noteAnswer('logs', false);
  secondsLater(3_600);
  one.noteHead(head(1_800n));
  expect(other.exclusionReason(providerHealth.best())).toBeNull();
  other.noteHead(head(1_799n));
  expect(other.exclusionReason(providerHealth.best())).toBeNull();
});

test('a head that stands still is stuck only where another one is ahead: a chain that has stopped makes no provider stuck', () => {
  const { providerHealth, one, other, secondsLater, head } = pair();
  for (let seconds = 0; seconds <= 80; seconds += 10) {
    for (const health of [one, other]) health.noteHead(head(7n));
    secondsLater(10);
  }
  expect(providerHealth.all.map((health) => health.exclusionReason(providerHealth.best()))).toEqual([null, null]);
  one.noteHead(head(8n));
  expect(providerHealth.all.map((health) => health.exclusionReason(providerHealth.best()))).toEqual([null, 'stuck']);
  other.noteHead(head(8n));
  expect(other.exclusionReason(providerHealth.best())).toBeNull();
});

test('a provider that claims a head far in the future excludes no provider that moves', () => {
  const { providerHealth, one, other, secondsLater, head } = pair();
  one.noteHead({ number: 1_000_000n, timestamp: 9_999_999_999n });
  for (let number = 1n; number < 20n; number += 1n) {
    other.noteHead(head(number));
    secondsLater(10);
  }
  expect(other.exclusionReason(providerHealth.best())).toBeNull();
  other.noteHead(head(20n));
  expect(other.isLate()).toBe(false);
});

test('a failure of long ago and one of now are two, and not a long silence', () => {
  const { providerHealth, other, secondsLater, head } = pair();
  other.noteAnswer('logs', false);
  other.noteHead(head(1n));
  secondsLater(86_400);
  other.noteHead(head(2n));
  other.noteAnswer('logs', false);
  expect(other.exclusionReason(providerHealth.best())).toBeNull();
});

test('what serves leads, in the order of the configuration', () => {
  const { providerHealth, one, other, secondsLater, head } = pair();
  expect(providerHealth.leaders()).toEqual([one, other]);
  one.noteSilence();
  expect(providerHealth.leaders()).toEqual([other, one]);
  expect(one.isPausing()).toBe(true);
  secondsLater(2);
  expect(one.isPausing()).toBe(false);
  one.noteHead(head(1n));
  expect(providerHealth.leaders()).toEqual([one, other]);
});

test('one that cannot say anything about payments loses its say for them alone', () => {
  const { providerHealth, other, secondsLater, head } = pair();
  for (let seconds = 0; seconds <= 70; seconds += 10) {
    expect(other.exclusionReason(providerHealth.best())).toBeNull();
    other.noteHead(head(3n + BigInt(seconds)));
    other.noteAnswer('logs', false);
    secondsLater(10);
  }
  expect(other.exclusionReason(providerHealth.best())).toBe('mute');
  other.noteAnswer('logs', true);
  expect(other.exclusionReason(providerHealth.best())).toBeNull();
});

test('an answer to another question does not bring the say back, and a provider without logs does not lead', () => {
  const { providerHealth, one, other, secondsLater, head } = pair();
  for (let seconds = 0; seconds <= 70; seconds += 10) {
    for (const health of [one, other]) health.noteHead(head(3n + BigInt(seconds)));
    one.noteAnswer('logs', false);
    one.noteAnswer('receipts', true);
    secondsLater(10);
  }
  expect(one.exclusionReason(providerHealth.best())).toBe('mute');
  expect(one.exclusionReason(providerHealth.best(), 'logs')).toBe('mute');
  // Its receipts still count. Otherwise nobody would notice that it disagrees about receipts.
  expect(one.exclusionReason(providerHealth.best(), 'receipts')).toBeNull();
  expect(providerHealth.leaders()).toEqual([other, one]);
  one.noteAnswer('logs', true);
  expect(providerHealth.leaders()).toEqual([one, other]);
});
