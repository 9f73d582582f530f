/** src/facilitator/kills.heavy.test.ts with many more settlements and kills: what is said there on its numbers holds here as well. */
import { testRandomKills } from '../support/facilitator-kills.ts';

const many = { settlements: 2_000, kills: 50 };
testRandomKills('killed again and again, it neither loses a settlement nor sends two', many);
