/** Why something was turned away or cut, as metrics and log call it. */
export const RULES = [
  'server_full',
  'network_share',
  'address_share',
  'long_bodies',
  'sockets_full',
  'sockets_of_network',
  'idle_closed',
  'answer_not_taken',
  'body_too_slow',
  'request_late',
  'lane_lost',
] as const;
export type Rule = (typeof RULES)[number];
export type RuleCounts = Readonly<Record<Rule, number>>;

export interface CountedRules {
  count(rule: Rule): void;
  list(): RuleCounts;
}

export function countRules(): CountedRules {
  const counts = Object.fromEntries(RULES.map((rule) => [rule, 0])) as Record<Rule, number>;
  return {
    count: (rule) => {
      counts[rule] += 1;
    },
    list: () => counts,
  };
}
