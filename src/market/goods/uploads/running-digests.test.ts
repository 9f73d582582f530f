import { expect, test } from 'vitest';
import { systemRandom } from '../../../platform/random.ts';
import { createDigester } from '../object-store.ts';
import { createRunningDigests } from './running-digests.ts';

const newDigester = () => createDigester({ random: systemRandom });

test('a digest is given back once, at the offset at which it ends', () => {
  const digests = createRunningDigests();
  const [one, other] = [newDigester(), newDigester()];
  digests.keep('one', 10, one);
  digests.keep('other', 20, other);
  expect(digests.take('one', 10)).toBe(one);
  expect(digests.take('one', 10)).toBeNull();
  // Another process has continued the upload, so this digest is of no use any more.
  expect(digests.take('other', 30)).toBeNull();
  expect(digests.take('other', 20)).toBeNull();
});

test('beyond 256 uploads the one that was not continued for longest is forgotten', () => {
  const digests = createRunningDigests();
  for (let id = 0; id < 256; id += 1) digests.keep(String(id), 1, newDigester());
  digests.keep('0', 2, newDigester());
  digests.keep('new', 1, newDigester());
  expect(digests.take('1', 1)).toBeNull();
  expect(digests.take('0', 2)).not.toBeNull();
  expect(digests.take('2', 1)).not.toBeNull();
  expect(digests.take('new', 1)).not.toBeNull();
});
