import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { usdcAdmin } from '../support/chain.ts';
import { claim, payDirectly } from '../support/direct.ts';
import { fundedWallet, listPaid, newGoods } from '../support/list-goods.ts';
import { type LyingBooks, openLyingBooks } from '../support/lying-books.ts';
import { BASE_URL, type Member, signProof, startWorld, type World } from '../support/market-world.ts';
import { PRICE } from '../support/trade.ts';
import { startProxy } from '../support/json-rpc-proxy.ts';
import { audit } from './audit.ts';
import { auditMarket } from './public/audit-market.ts';

const { sellerOne, treasury, buyerOne, buyerTwo, buyerThree } = WORLD_ACCOUNTS;
