/** English words that say nothing about what is wanted. A search leaves them out unless it has no others. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  `a about above after again against all also am an and any anybody anyone anything are as at be because been before being below between
  both but by can cannot could did do does doing done down during each either else ever every few for from further get gets getting give
  gives given going got had has have having he help helps her here hers him his how i if in into is isn it its itself just kind know
  let like look looking looks make makes making many may me might mine more most much must my myself need needed needing needs neither no
  nor not now of off on once one ones only onto or other others our ours out over own per please quite really same shall she should show
  so some somebody someone something somewhat such take takes tell than that the their theirs them themselves then there these they thing
  things this those through to too toward towards try trying under until up upon us use used uses using very via want wanted wanting wants
  was way we well were what whatever when where whether which while who whom whose why will with within without would yes yet you your
  yours yourself s t d ll m re ve don doesn didn won wouldn shouldn couldn isn aren wasn weren hasn haven hadn im ive id`
    .split(/\s+/)
    .filter((word) => word !== ''),
);

export function isStopWord(word: string): boolean {
  return STOP_WORDS.has(word);
}
