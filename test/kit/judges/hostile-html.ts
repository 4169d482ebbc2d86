/** Texts that would run or load something if they were taken as HTML. */
export const hostileHtml = [
  '<img src=x onerror="window.hit = 1">',
  '<script>window.hit = 1</script>',
  '<svg onload="window.hit = 1">',
  '<iframe srcdoc="<script>parent.hit = 1</script>"></iframe>',
  '[a link](javascript:window.hit=1)',
  '[data](data:text/html,<script>window.hit=1</script>)',
  '![picture](https://evil.example/pixel.png)',
  '<a href="javascript:window.hit=1">x</a>',
  '<style>@import url(https://evil.example/x.css)</style>',
  '<base href="https://evil.example/">',
  '<meta http-equiv="refresh" content="0;url=https://evil.example/">',
  '<form action="https://evil.example/"><button>Go</button></form>',
  '</pre></div><img src=https://evil.example/y.png>',
  '\u202egnp.exe \u0000 \u001b]8;;https://evil.example\u0007x'
].map((text) => text.replaceAll('\u0000', ''));
