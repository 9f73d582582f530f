/** Runs src/facilitator/kills.heavy.test.ts with many more settlements and kills. Its notes on the numbers apply here. */
import { testRandomKills } from '../support/facilitator-kills.ts';

const many = { settlements: 2_000, kills: 50 };
testRandomKills('killed again and again, it neither loses a settlement nor sends two', many);
