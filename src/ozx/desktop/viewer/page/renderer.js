// Draws layers of tiles with WebGL 2. Each layer is composed on its own sheet, lower resolutions first, so that
// a lower resolution shows where tiles are missing; then the sheet is added to the picture.

import { CanvasRenderer } from "./canvas_renderer.js";
import { PROGRAMS } from "./shaders.js";

// Programs that stand in for a graphics card.
const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i;

/**
 * A renderer for a canvas: WebGL 2 if there is a graphics card; otherwise a 2-D canvas, on which the processor draws several
 * times faster. `?draw=webgl` or `?draw=canvas` after the address chooses one of them.
 *
 * @param isRestored  whether the canvas has a context of WebGL, whose graphics card was lost for a moment
 */
export function createRenderer(canvas, isRestored = false) {
  const wish = new URLSearchParams(window.location.search).get("draw");
  const isWanted = isRestored || wish === "webgl" || (wish !== "canvas" && hasGraphicsCard());
  const options = { alpha: false, antialias: false, preserveDrawingBuffer: false };
  const gl = isWanted ? canvas.getContext("webgl2", options) : null;
  return gl ? new Renderer(gl) : new CanvasRenderer(canvas.getContext("2d", { alpha: false }));
}

function hasGraphicsCard() {
  const gl = document.createElement("canvas").getContext("webgl2"); // what draws is known only to a context
  if (!gl) return false;
  const info = gl.getExtension("WEBGL_debug_renderer_info"); // RENDERER itself names it in Firefox only
  const name = gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return !SOFTWARE.test(name);
}

class Renderer {
  constructor(gl) {
    this.gl = gl;
    this.name = "WebGL 2";
    const { RED_INTEGER: whole, RED: real } = gl;
    // Of each type of samples: internal format, format, type, and which program reads it.
    this.formats = {
      uint8: [gl.R8UI, whole, gl.UNSIGNED_BYTE, "u"],
      int8: [gl.R8I, whole, gl.BYTE, "i"],
      uint16: [gl.R16UI, whole, gl.UNSIGNED_SHORT, "u"],
      int16: [gl.R16I, whole, gl.SHORT, "i"],
      uint32: [gl.R32UI, whole, gl.UNSIGNED_INT, "u"],
      int32: [gl.R32I, whole, gl.INT, "i"],
      float32: [gl.R32F, real, gl.FLOAT, "f"],
    };
    this.programs = Object.fromEntries(
      Object.entries(PROGRAMS).map(([name, [vertex, fragment]]) => [name, makeProgram(gl, vertex, fragment)]),
    );
    gl.bindVertexArray(gl.createVertexArray()); // corners are made of their numbers
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    const { texture } = this.tableTexture({ table: new Uint8Array(4), width: 1, rows: 1 });
    this.noTable = { texture, width: 0, rows: 0 };
    this.sheet = null;
  }

  /** Samples as a texture. */
  tileTexture(samples, type, columns, rows) {
    const { gl } = this;
    const [internal, format, kind] = this.formats[type];
    const texture = this.#texture(gl.NEAREST);
    gl.texImage2D(gl.TEXTURE_2D, 0, internal, columns, rows, 0, format, kind, samples);
    return texture;
  }

  /** Colours of labels as a texture. */
  tableTexture({ table, width, rows }) {
    const { gl } = this;
    const texture = this.#texture(gl.NEAREST);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, width, rows, 0, gl.RGBA, gl.UNSIGNED_BYTE, table);
    return { texture, width, rows };
  }

  freeTexture(texture) {
    this.gl.deleteTexture(texture);
  }

  /** Begin a picture of so many device pixels. */
  begin(width, height) {
    const { gl } = this;
    this.size = { width, height };
    if (this.sheet?.width !== width || this.sheet?.height !== height) this.sheet = this.#makeSheet(width, height);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, width, height);
    gl.disable(gl.BLEND);
    gl.clearColor(0, 0, 0, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
  }

  /** Add a channel: `tiles` are `{texture, rect}` in device pixels, lower resolutions first. */
  addChannel(tiles, type, { color, start, end, gamma }) {
    const { gl } = this;
    const program = this.#beginSheet(this.formats[type][3]);
    gl.uniform2f(program.at("range"), start, 1 / (end - start || 1));
    gl.uniform1f(program.at("gamma"), gamma);
    gl.uniform3fv(program.at("color"), color);
    this.#drawTiles(program, tiles);
    this.#laySheet(1, gl.ONE, gl.ONE);
  }

  /** Lay a label image over the picture. */
  addLabels(tiles, table, opacity) {
    const { gl } = this;
    const program = this.#beginSheet("labels");
    const { texture, width, rows } = table ?? this.noTable;
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.activeTexture(gl.TEXTURE0);
    gl.uniform1i(program.at("table"), 1);
    gl.uniform2i(program.at("tableSize"), width, rows);
    this.#drawTiles(program, tiles);
    this.#laySheet(opacity, gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  }

  /** Show the picture: WebGL does so itself. */
  end() {}

  #beginSheet(name) {
    const { gl } = this;
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.sheet.frame);
    gl.disable(gl.BLEND);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    const program = this.programs[name];
    gl.useProgram(program.program);
    gl.uniform1i(program.at("samples"), 0);
    return program;
  }

  #drawTiles(program, tiles) {
    const { gl } = this;
    const { width, height } = this.size;
    for (const { texture, rect } of tiles) {
      gl.bindTexture(gl.TEXTURE_2D, texture);
      const [right, down] = [2 / width, -2 / height]; // device coordinates go up
      gl.uniform4f(program.at("rect"), rect.x * right - 1, rect.y * down + 1, rect.width * right, rect.height * down);
      gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    }
  }

  #laySheet(opacity, source, target) {
    const { gl } = this;
    const { program, at } = this.programs.layer;
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.enable(gl.BLEND);
    gl.blendFunc(source, target);
    gl.useProgram(program);
    gl.bindTexture(gl.TEXTURE_2D, this.sheet.texture);
    gl.uniform1i(at("samples"), 0);
    gl.uniform1f(at("opacity"), opacity);
    gl.uniform4f(at("rect"), -1, -1, 2, 2);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    gl.disable(gl.BLEND);
  }

  #makeSheet(width, height) {
    const { gl } = this;
    if (this.sheet) {
      gl.deleteTexture(this.sheet.texture);
      gl.deleteFramebuffer(this.sheet.frame);
    }
    const texture = this.#texture(gl.NEAREST);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, width, height, 0, gl.RGBA, gl.UNSIGNED_BYTE, null);
    const frame = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
    return { texture, frame, width, height };
  }

  #texture(filter) {
    const { gl } = this;
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, filter);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, filter);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
    return texture;
  }
}

function makeProgram(gl, vertex, fragment) {
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) {
      throw new Error(gl.getShaderInfoLog(shader));
    }
  }
  gl.linkProgram(program);
  const places = new Map();
  const at = (name) => {
    if (!places.has(name)) places.set(name, gl.getUniformLocation(program, name));
    return places.get(name);
  };
  return { program, at };
}
