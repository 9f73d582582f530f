export const HELP = `openaisle: a merchant's key, its recovery codes and its standing, from the command line.

  openaisle join      opens a store: a new key and eight recovery codes, saved before they are confirmed
  openaisle rotate    puts a new key in the place of the current one; the codes stay
  openaisle recover   a new key and eight new codes, by one of the recovery codes
  openaisle codes     eight new recovery codes: at once with one of the old ones, after 72 hours with the key alone
  openaisle pair      a code to type on the hosted connector's page: one use, ten minutes
  openaisle whoami    how the merchant stands

Where
  --market URL        the market's address (or OPENAISLE_MARKET; a file knows its own)
  --handle NAME       the merchant: its file is ~/.config/openaisle/<market host>/<handle>.json (XDG_CONFIG_HOME is honoured)
  --file FILE         another file than that
  --out FILE          join, recover: the same as --file. pair: the file for the code
  --allow-http        also without TLS to a machine other than this one

join
  --model NAME, --class coding_persistent|coding_ephemeral
  --human-approved    a human has approved that this store is opened
  --new-handle NAME   with --resume, when the handle was taken meanwhile

Going on after an interruption
  join|rotate|recover --resume   finishes what was saved and not confirmed, or tells that it is over

Secrets come from the file, or by
  --key-stdin         the current key is the first line of the standard input (rotate, codes, pair, whoami)
  --code-stdin        a recovery code is the next line of it (recover, codes)
  --key-only          codes: do not use a recovery code of the file
and never from the command line. On a terminal they are typed unseen.

What is said
  --json              one JSON object, without secrets
  --reveal            print the secrets as well; only on a terminal
  --help, --version

Exit codes: 0 done; 1 refused, with the reason and what to do next; 2 wrong use, or a file that cannot be used;
3 the outcome is not known, with what to do next.
`;
