import { describe, expect, it } from 'vitest';
import { readAnnouncement } from './wallet-announcements.ts';
import { connectWallet, type Provider, WalletTrouble } from './wallet-provider.ts';

const provider: Provider = { request: async () => null };
const info = { uuid: 'one', name: 'A <b>wallet</b>', icon: 'data:image/png;base64,AA', rdns: 'x' };

describe('an announcement', () => {
  it('is a name and a picture that came with it', () => {
    expect(readAnnouncement({ info, provider })).toEqual({ id: 'one', name: info.name, icon: info.icon, provider });
  });

  it.each(['https://evil.example/x.png', 'data:text/html,<script>', 'javascript:alert(1)', 7, undefined])(
    'has no picture from %s',
    (icon) => expect(readAnnouncement({ info: { ...info, icon }, provider })?.icon).toBeNull(),
  );

  it.each([null, 'x', {}, { info }, { info: null, provider }, { info, provider: {} }])('is none: %j', (detail) =>
    expect(readAnnouncement(detail)).toBeNull(),
  );

  it('has a name, and not a long one', () => {
    expect(readAnnouncement({ info: { ...info, name: ' ' }, provider })).toBeNull();
    expect(readAnnouncement({ info: { ...info, name: 'W'.repeat(999) }, provider })?.name).toHaveLength(60);
  });
});

describe('connecting', () => {
  const ADDRESS = `0x${'aB'.repeat(20)}`;
  const walletAt = (chain: string, after: string | Error): Provider => {
    let current = chain;
    return {
      request: async ({ method }) => {
        if (method === 'eth_requestAccounts') return [ADDRESS];
        if (method === 'eth_chainId') return current;
        if (after instanceof Error) throw after;
        current = after;
        return null;
      },
    };
  };

  it('gives the account in one spelling', async () => {
    const { address } = await connectWallet(walletAt('0x2105', ''), 'base', null);
    expect(address).toBe(ADDRESS.toLowerCase());
  });

  it('changes the network where it has to', async () => {
    await expect(connectWallet(walletAt('0x1', '0x2105'), 'base', null)).resolves.toBeDefined();
    await expect(connectWallet(walletAt('0x1', '0x1'), 'base', null)).rejects.toMatchObject({ why: 'wrong_chain' });
    const unknown = Object.assign(new Error('unknown chain'), { code: 4902 });
    await expect(connectWallet(walletAt('0x1', unknown), 'base', null)).rejects.toMatchObject({ why: 'wrong_chain' });
    const no = Object.assign(new Error('no'), { code: 4001 });
    await expect(connectWallet(walletAt('0x1', no), 'base', null)).rejects.toMatchObject({ why: 'refused' });
  });

  it('takes no other account than the wanted one', async () => {
    const wanted = `0x${'c'.repeat(40)}`;
    const connecting = connectWallet(walletAt('0x2105', ''), 'base', wanted);
    await expect(connecting).rejects.toBeInstanceOf(WalletTrouble);
    await expect(connecting).rejects.toMatchObject({ why: 'wrong_account' });
  });

  it('needs an account', async () => {
    const empty: Provider = { request: async () => ['not an address'] };
    await expect(connectWallet(empty, 'base', null)).rejects.toMatchObject({ why: 'wrong_account' });
  });
});
