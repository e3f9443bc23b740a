// Replaces each still picture by its interactive chart; without this script the pictures stay.
"use strict";
(function () {
  for (const holder of document.querySelectorAll(".live")) {
    const text = document.getElementById(holder.id + "-spec").textContent;
    const spec = JSON.parse(text);
    const room = holder.parentElement.clientWidth;
    if (spec.vconcat) {
      for (const part of spec.vconcat) {
        if (part.facet) {
          part.columns = room < 480 ? 2 : part.columns;
          part.spec.width = Math.floor((room - 48) / part.columns) - part.spacing.column;
          part.facet.header.labelLimit = part.spec.width;
        } else {
          part.width = room - 66;
        }
      }
    } else {
      spec.width = "container";
      spec.autosize = { type: "fit-x", contains: "padding" };
    }
    if (room < 480) {
      spec.config.axisXDiscrete = { labelAngle: -45 };
      spec.config.legend.columns = 1;
    }
    const figure = holder.parentElement;
    figure.classList.add("drawn");
    // ast: expressions are interpreted, so that the page needs no permission to evaluate code.
    vegaEmbed(holder, spec, { actions: false, ast: true, renderer: "svg", mode: "vega-lite" })
      .catch(function (error) {
        figure.classList.remove("drawn");
        console.error(error);
      });
  }
})();
