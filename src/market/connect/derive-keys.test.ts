import { createPrivateKey, createPublicKey, createSign, createVerify } from 'node:crypto';
import { expect, test } from 'vitest';
import { createPepperFrom } from '../../platform/pepper.ts';
import { cookieKeys, p256Key, signingKey } from './create-provider.ts';

const old = Buffer.alloc(32, 1);
const fresh = Buffer.alloc(32, 2);

test('every process with the same pepper has the same keys, and with another pepper others', () => {
  const [mine, same, other] = [old, old, fresh].map((bytes) => createPepperFrom(new Map([[1, bytes]])));
  if (mine === undefined || same === undefined || other === undefined) throw new Error('three peppers');
  expect(signingKey(mine)).toEqual(signingKey(same));
  expect(cookieKeys(mine)).toEqual(cookieKeys(same));
  expect(signingKey(other)).not.toEqual(signingKey(mine));
  expect(cookieKeys(other)).not.toEqual(cookieKeys(mine));
});

test('cookies that were signed under an older pepper are read as long as it is kept', () => {
  const before = cookieKeys(createPepperFrom(new Map([[1, old]])));
  const after = cookieKeys(
    createPepperFrom(
      new Map([
        [1, old],
        [2, fresh],
      ]),
    ),
  );
  expect(after).toHaveLength(2);
  expect(after[1]).toBe(before[0]);
});

test('the signing key is valid for the curve', () => {
  const jwk = { ...signingKey(createPepperFrom(new Map([[1, old]]))) } as Record<string, string>;
  const key = createPrivateKey({ key: jwk, format: 'jwk' });
  const { d: _private, ...open } = jwk;
  const signature = createSign('sha256').update('text').sign(key);
  const isRight = createVerify('sha256')
    .update('text')
    .verify(createPublicKey({ key: open, format: 'jwk' }), signature);
  expect(isRight).toBe(true);
});

test('numbers outside the curve’s order are skipped', () => {
  const order = 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551';
  expect(p256Key(Buffer.alloc(32))).toBeNull();
  expect(p256Key(Buffer.from(order, 'hex'))).toBeNull();
  expect(p256Key(Buffer.alloc(32, 255))).toBeNull();
  expect(p256Key(Buffer.from(order.replace(/1$/, '0'), 'hex'))).not.toBeNull();
});
