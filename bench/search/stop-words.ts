/** Words that say nothing about goods: English function words, and words with which people ask. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  [
    'a an the this that these those some any each every all both either neither no not nor none such same other another',
    'i me my mine myself we us our ours ourselves you your yours yourself he him his she her hers it its itself they them',
    'their theirs who whom whose which what when where why how there here',
    'am is are was were be been being do does did doing have has had having can could may might must shall should will would',
    's t d ll m re ve don isn aren wasn weren doesn didn won hasn haven couldn shouldn wouldn',
    'and or but if then else than so because as while until though although unless whether',
    'of at by for with without about against between into through during before after above below to from up down in out on',
    'off over under within per via again further once only own just also too very more most less few now',
    'want wants need needs like please help let get gets give make makes use uses used using',
  ].flatMap((line) => line.split(' ')),
);
