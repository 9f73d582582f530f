import { toEventSelector } from 'viem/utils';
import { describe, expect, test } from 'vitest';
import type { Hex } from '../hex.ts';
import {
  AUTHORIZATION_CANCELED_TOPIC,
  AUTHORIZATION_USED_TOPIC,
  addressTopic,
  decodeAuthorizationCanceled,
  decodeAuthorizationUsed,
  decodeTransfer,
  TRANSFER_TOPIC,
} from './usdc.ts';

const payer: Hex = '0x00000000000000000000000000000000000000aa';
const payee: Hex = `0x${'b'.repeat(40)}`;
const nonce: Hex = `0x${'9'.repeat(64)}`;
const dirty: Hex = `0x01${addressTopic(payee).slice(4)}`;
const value: Hex = `0x${(2_500_000).toString(16).padStart(64, '0')}`;

test('the topics are the hashes of the event signatures', () => {
  expect([TRANSFER_TOPIC, AUTHORIZATION_USED_TOPIC, AUTHORIZATION_CANCELED_TOPIC]).toEqual([
    toEventSelector('Transfer(address,address,uint256)'),
    toEventSelector('AuthorizationUsed(address,bytes32)'),
    toEventSelector('AuthorizationCanceled(address,bytes32)'),
  ]);
});

describe('a Transfer', () => {
  const topics = [TRANSFER_TOPIC, addressTopic(payer), addressTopic(payee)];

  test('is decoded, the largest value included', () => {
    expect(decodeTransfer({ topics, data: value })).toEqual({ from: payer, to: payee, value: 2_500_000n });
    expect(decodeTransfer({ topics, data: `0x${'f'.repeat(64)}` })?.value).toBe(2n ** 256n - 1n);
  });

  test.each<[string, Hex[], Hex]>([
    ['no topics', [], value],
    ['two topics', topics.slice(0, 2), value],
    ['four topics, as an NFT has', [...topics, nonce], value],
    ['another event', [AUTHORIZATION_USED_TOPIC, ...topics.slice(1)], value],
    ['bytes above the sender', [TRANSFER_TOPIC, dirty, addressTopic(payee)], value],
    ['bytes above the receiver', [TRANSFER_TOPIC, addressTopic(payer), dirty], value],
    ['an unpadded address', [TRANSFER_TOPIC, payer, addressTopic(payee)], value],
    ['no data', topics, '0x'],
    ['short data', topics, '0x01'],
    ['long data', topics, `${value}00`],
  ])('is none with %s', (_name, wrong, data) => {
    expect(decodeTransfer({ topics: wrong, data })).toBeNull();
  });
});

describe('the end of an authorization', () => {
  const rest = [addressTopic(payer), nonce];

  test('is told as used or as cancelled, never as both', () => {
    const used = { topics: [AUTHORIZATION_USED_TOPIC, ...rest], data: '0x' as const };
    const canceled = { topics: [AUTHORIZATION_CANCELED_TOPIC, ...rest], data: '0x' as const };
    expect(decodeAuthorizationUsed(used)).toEqual({ authorizer: payer, nonce });
    expect(decodeAuthorizationCanceled(used)).toBeNull();
    expect(decodeAuthorizationCanceled(canceled)).toEqual({ authorizer: payer, nonce });
    expect(decodeAuthorizationUsed(canceled)).toBeNull();
  });

  test.each<[string, Hex[], Hex]>([
    ['data', [AUTHORIZATION_USED_TOPIC, ...rest], '0x00'],
    ['a topic more', [AUTHORIZATION_USED_TOPIC, ...rest, nonce], '0x'],
    ['a topic less', [AUTHORIZATION_USED_TOPIC, addressTopic(payer)], '0x'],
    ['bytes above the payer', [AUTHORIZATION_USED_TOPIC, dirty, nonce], '0x'],
    ['a short nonce', [AUTHORIZATION_USED_TOPIC, addressTopic(payer), '0x99'], '0x'],
  ])('is none with %s', (_name, topics, data) => {
    expect(decodeAuthorizationUsed({ topics, data })).toBeNull();
  });
});
