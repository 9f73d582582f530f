/** Words that say nothing about the need that goods answer: the most common English ones, and usual words of guides and READMEs. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  `
  a able about above across actually add added adding after again against all allow allows almost along already also although always am
  among an and another any anyone anything are aren't around as ask asks at available avoid away back based be became because become been
  before began begin behind being below best better between big both break bring but by call called can can't cannot care case cases
  certain change changed changes check checks choose clear close come comes common complete consider contain contains correct could
  couldn't create created creates creating currently cut day days default depend depends describe describes description did didn't
  different directly do does doesn't doing don't done down due during each early easily easy effect either else end ends enough ensure
  ensures entire especially etc even ever every everyone everything exactly except exist exists expect extra fact far fast few find finds
  fine first fix follow followed following follows for form found four free from full fully further gave general get gets give given gives
  go goes going good got great had handle handles happen happens hard has have having he help helps hence her here high him his how
  however i i'm idea if improve in include included includes including indeed inside instead into is isn't it it's item items its itself
  job just keep keeps kept kind know known knows large last late later latest least leave less let let's level like likely line lines list
  lists little long longer look looking looks lot low made make makes making many matter may maybe me mean means might mind minute minutes
  modern most mostly move much multiple must my name named names near necessary need needed needs never new next no none nor not note
  notes nothing now number numbers of off often ok old on once one ones only onto open option or order other others otherwise our out over
  own page pages part particular parts past people per perhaps person place please point points possible powerful pre prefer previous
  probably problem produce professional proper properly provide provided provides purpose put quality quick quickly quite rather read
  reading reads ready real really reason recommended related relevant remember remove required result results return returns right robust
  rule rules run running runs said same save say says second section sections see seen sees select send separate set sets setting several
  shall she short should shouldn't show shown shows side similar simple simply since single small smart so solution some someone something
  sometimes soon sort specific specified start started starts state stay still stop such suggest sure take taken takes taking tell ten
  than that that's the their them then there therefore these they thing things think this those though three through thus time times to
  today together too took top total toward true try trying turn two type types ultimate under understand unless until up upon us use used
  useful user users uses using usual usually valid value values various version very via view want wants was wasn't watch way ways we well
  were weren't what what's whatever when whenever where whether which while who whole whose why wide will with within without won't word
  words work worked working works world would wouldn't write writes writing written wrong year years yes yet you you're your yourself

  action actions active advanced agent agents ai api app appendix application apply argument arguments assistant author authors automate
  automated automatically background badge badges base basic basics behavior behaviour browse bug bugs build capabilities capability
  categories category changelog checklist code command commands component components comprehensive concept concepts conclusion config
  configuration configure connection content contents context contributing contribution contributions contributor contributors core credit
  credits criteria critical current custom data date demo design detail detailed details develop development directory disclaimer discover
  discovery docs document documentation donate e.g environment error errors example examples execute execution existing exit experience
  expert extract faq feature features feedback field fields file files filter flag folder format framework function generate generated
  generating generation getting guide guideline guidelines handling how-to i.e id identify implement implementation implementing important
  info information input install installation installing instruction instructions integrate integration intro introduction issue issues
  key learn licence license limitation limitations link links load local main manage management manual markdown message method methodology
  methods metric metrics missing mistake mistakes mit mode model models module more operation operations optional options output overview
  package parameter parameters path pattern patterns phase phases pitfall pitfalls plan post-execution practice practices prerequisite
  prerequisites principle principles priority process product production project prompt prompts pull query question questions quick-start
  quickstart rate readme reference references release releases repo repository request requests requirement requirements resource
  resources response responses roadmap role sample schema scope script scripts search selection service services session setup skill
  skill.md skills skip slug slugs source special stage standard status step steps strategies strategy structure style summary support
  supported system table target task tasks technical technique techniques template templates text tip tips title todo tool toolkit tools
  topic topics trigger triggers troubleshooting tutorial update updates url usage variable variables verify warning workaround workflow
  workflows
  `
    .trim()
    .split(/\s+/),
);
